// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.HardwoodContext;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.parquet.ColumnSource.Filler;
import io.torchfeed.parquet.ParquetException.Problem;
import io.torchfeed.parquet.StorePlan.Piece;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Stores pieces in a folder, together with other processes that have the same plan. */
final class StoreWriter {
  private static final long POLL_MILLIS = 20;

  private final StorePlan plan;
  private final StoreFolder folder;
  private final Consumer<? super ParquetProgress> progress;
  private final int batchRows;

  /** The wait after which the pieces of another process are stored here, too. */
  private final long patienceNanos;

  /** The hash of each piece that is complete, by its number; guarded by this. */
  private final @Nullable String[] done;

  private int doneCount;
  private long doneRows;
  private @Nullable Throwable failure;

  private StoreWriter(
      StorePlan plan,
      StoreFolder folder,
      Consumer<? super ParquetProgress> progress,
      long patienceNanos) {
    this.plan = plan;
    this.folder = folder;
    this.progress = progress;
    this.patienceNanos = patienceNanos;
    done = new @Nullable String[plan.pieces().size()];
    batchRows = plan.batchRows();
  }

  /**
   * Stores rows, and returns when the folder is complete.
   *
   * @param threads how many store pieces
   * @throws ParquetException if rows cannot be read or stored
   */
  static void run(
      StorePlan plan,
      Path path,
      int threads,
      Consumer<? super ParquetProgress> progress,
      long patienceNanos) {
    try (StoreFolder folder = StoreFolder.open(path, plan)) {
      if (folder != null) {
        StoreWriter writer = new StoreWriter(plan, folder, progress, patienceNanos);
        writer.readMarks();
        writer.requireSpace(path);
        writer.store(threads);
      }
    } catch (IOException e) {
      throw new ParquetException(
          Problem.FOLDER,
          "%s cannot be written: %s".formatted(path, ParquetException.reason(e)),
          e);
    }
  }

  private synchronized void readMarks() throws IOException {
    for (Piece piece : plan.pieces()) {
      String hash = folder.marked(piece);
      if (hash != null) {
        done[piece.number()] = hash;
        doneCount++;
        doneRows += piece.group().rows();
      }
    }
  }

  private synchronized void requireSpace(Path path) throws IOException {
    long rowBytes = plan.columns().stream().mapToLong(RowSpec::bytes).sum();
    long needed = 0;
    for (Piece piece : plan.pieces()) {
      needed += done[piece.number()] == null ? piece.group().rows() * rowBytes : 0;
    }
    long free = Files.getFileStore(path).getUsableSpace();
    if (free < needed) {
      throw new ParquetException(
          Problem.FOLDER,
          "%s needs %d more bytes for the rows, but its disk has %d".formatted(path, needed, free));
    }
  }

  private void store(int threads) throws IOException {
    try (HardwoodContext context = HardwoodContext.create(threads)) {
      List<Thread> workers = new ArrayList<>();
      for (int i = 1; i < Math.min(threads, plan.pieces().size()); i++) {
        Thread worker = new Thread(() -> work(context), "torchfeed-parquet-" + i);
        worker.setDaemon(true);
        worker.start();
        workers.add(worker);
      }
      work(context);
      join(workers);
      rethrow();
      finish(context);
    }
  }

  /** Waits for the workers; an interrupt makes them stop at their next batch. */
  private void join(List<Thread> workers) {
    for (Thread worker : workers) {
      boolean isInterrupted = false;
      while (true) {
        try {
          worker.join();
          break;
        } catch (InterruptedException e) {
          isInterrupted = true;
          fail(new ParquetException(Problem.FOLDER, "storing was interrupted", e));
        }
      }
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private synchronized void fail(Throwable cause) {
    if (failure == null) {
      failure = cause;
    }
  }

  private synchronized boolean hasFailed() {
    return failure != null;
  }

  private synchronized void rethrow() throws IOException {
    if (failure instanceof IOException e) {
      throw e;
    } else if (failure instanceof RuntimeException e) {
      throw e;
    } else if (failure instanceof Error e) {
      throw e;
    }
  }

  /** Stores pieces without a claim of others, until none is left. */
  private void work(HardwoodContext context) {
    try (Worker worker = new Worker(context)) {
      for (Piece piece : plan.pieces()) {
        if (hasFailed()) {
          return;
        }
        worker.storeIfFree(piece);
      }
    } catch (IOException | RuntimeException | Error e) {
      fail(e);
    }
  }

  /** Waits for the pieces of other processes, takes over the abandoned ones, and completes. */
  private void finish(HardwoodContext context) throws IOException {
    long last = System.nanoTime();
    int before = -1;
    try (Worker worker = new Worker(context)) {
      while (!folder.isComplete()) {
        List<Piece> left = left();
        if (left.isEmpty() && folder.finish(groups())) {
          return;
        }
        if (left.size() != before) {
          before = left.size();
          last = System.nanoTime();
        }
        boolean isOver = System.nanoTime() - last > patienceNanos;
        for (Piece piece : left) {
          if (isOver) {
            worker.store(piece);
          } else {
            worker.storeIfFree(piece);
          }
        }
        pause();
      }
    }
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ParquetException(Problem.FOLDER, "storing was interrupted", e);
    }
  }

  private synchronized List<Piece> left() {
    return plan.pieces().stream().filter(piece -> done[piece.number()] == null).toList();
  }

  private synchronized List<StoreNote.Group> groups() {
    List<StoreNote.Group> groups = new ArrayList<>();
    for (Piece piece : plan.pieces()) {
      groups.add(new StoreNote.Group(piece.group().rows(), String.valueOf(done[piece.number()])));
    }
    return groups;
  }

  private synchronized boolean isDone(Piece piece) {
    return done[piece.number()] != null;
  }

  private synchronized void complete(Piece piece, String hash) {
    if (done[piece.number()] == null) {
      doneCount++;
      doneRows += piece.group().rows();
    }
    done[piece.number()] = hash;
    progress.accept(new ParquetProgress(doneCount, plan.pieces().size(), doneRows, plan.rows()));
  }

  /** The part with memory, for one thread. */
  private final class Worker implements AutoCloseable {
    private final GroupReader reader;
    private final List<Filler> fillers = new ArrayList<>();
    private final List<ByteBuffer> buffers = new ArrayList<>();

    Worker(HardwoodContext context) {
      reader = new GroupReader(context, new ReadMemory(), batchRows, null);
      for (ColumnSource source : plan.sources()) {
        fillers.add(source.filler());
        buffers.add(ByteBuffer.allocate(Math.toIntExact(batchRows * source.row().bytes())));
      }
    }

    void storeIfFree(Piece piece) throws IOException {
      if (isDone(piece)) {
        return;
      }
      try (FileLock claim = folder.claims().claim(piece.number())) {
        String hash = claim == null ? null : folder.marked(piece);
        if (hash != null) {
          complete(piece, hash);
        } else if (claim != null && !folder.isComplete()) { // then its marks are gone
          store(piece);
        }
      }
    }

    void store(Piece piece) throws IOException {
      List<MessageDigest> digests = new ArrayList<>();
      plan.sources().forEach(source -> digests.add(SourceInput.sha256()));
      reader.read(
          piece.file(),
          piece.group(),
          piece.leaves(),
          (leaves, count, place) -> {
            if (hasFailed()) {
              throw new ParquetException(Problem.FOLDER, "another thread has failed");
            }
            store(piece.firstRow() + place.row(), leaves, count, place, digests);
          });
      MessageDigest all = SourceInput.sha256();
      digests.forEach(digest -> all.update(digest.digest()));
      String hash = HexFormat.of().formatHex(all.digest());
      folder.mark(piece, hash);
      complete(piece, hash);
    }

    private void store(
        long row, List<LeafBatch> leaves, int count, BatchPlace place, List<MessageDigest> digests)
        throws IOException {
      int from = 0;
      for (int i = 0; i < fillers.size(); i++) {
        ColumnSource source = plan.sources().get(i);
        int to = from + source.paths().size();
        ByteBuffer bytes = buffers.get(i);
        fillers.get(i).fill(leaves.subList(from, to), count, bytes, place);
        bytes.clear().limit(Math.toIntExact(count * source.row().bytes()));
        digests.get(i).update(bytes.duplicate());
        folder.write(i, row, bytes);
        from = to;
      }
    }

    @Override
    public void close() throws IOException {
      fillers.forEach(Filler::close);
      reader.close();
    }
  }
}
