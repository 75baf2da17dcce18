// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.Batch;
import io.torchfeed.data.Batches;
import io.torchfeed.data.DataLoader;
import io.torchfeed.data.FileColumn;
import io.torchfeed.data.FileDataset;
import io.torchfeed.data.RowLayout;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DistributedRandomSampler;
import io.torchfeed.sampler.Sampler;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Locale;
import java.util.Random;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Rows a second that the loader brings from a file in random order, beside one thread that reads
 * the same rows in the same order with {@code pread} into one reused buffer of a batch.
 *
 * <p>The machine drifts: each epoch of the loader lies between two of the plain loop and is
 * compared with their mean, and the median over the rounds counts.
 */
public final class FileLoading {
  private static final int[] WORKERS = {0, 1, 2};
  private static final int LINE = 64;

  private final Path file;
  private final int rowBytes;
  private final int rows;
  private final int batch;
  private final boolean cold;
  private final Sampler sampler;
  private final ByteBuffer buffer;
  private long epoch;

  private FileLoading(Path file, int rowBytes, int rows, int batch, boolean cold) {
    this.file = file;
    this.rowBytes = rowBytes;
    this.rows = rows;
    this.batch = batch;
    this.cold = cold;
    this.sampler = new DistributedRandomSampler(rows, 1, 0);
    // aligned as the loader's memory is: copies are faster so
    this.buffer = ByteBuffer.allocateDirect(batch * rowBytes + LINE).alignedSlice(LINE);
  }

  /**
   * Writes a file, measures and prints a line for each number of workers.
   *
   * @param args bytes of a row, rows, batch size, rounds, {@code warm} or {@code cold}, folder
   * @throws Exception if the file cannot be written or dropped from the page cache
   */
  public static void main(String[] args) throws Exception {
    if (args.length != 6) {
      throw new IllegalArgumentException("bytes rows batch rounds warm|cold folder are needed");
    }
    int rowBytes = Integer.parseInt(args[0]);
    int rows = Integer.parseInt(args[1]);
    Path file = Files.createTempFile(Path.of(args[5]), "rows", ".bin");
    try {
      write(file, rowBytes, rows);
      new FileLoading(file, rowBytes, rows, Integer.parseInt(args[2]), "cold".equals(args[4]))
          .measure(Integer.parseInt(args[3]));
    } finally {
      Files.delete(file);
    }
  }

  private static void write(Path file, int rowBytes, int rows) throws IOException {
    byte[] row = new byte[rowBytes];
    Random random = new Random(0);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      for (int i = 0; i < rows; i++) {
        random.nextBytes(row);
        channel.write(ByteBuffer.wrap(row));
      }
      channel.force(true);
    }
  }

  private void measure(int rounds) throws Exception {
    try (FileDataset data =
            FileDataset.of(FileColumn.raw(RowLayout.of(ScalarType.Byte, rowBytes), file));
        FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      for (int workers : WORKERS) {
        try (DataLoader loader =
            DataLoader.over(data).sampler(sampler).batchSize(batch).workers(workers).build()) {
          double[] plain = new double[rounds];
          double[] loaded = new double[rounds];
          double[] ratios = new double[rounds];
          rate(() -> load(loader)); // slabs, and code that is compiled
          rate(() -> read(channel));
          for (int i = 0; i < rounds; i++) {
            epoch++;
            double before = rate(() -> read(channel));
            loaded[i] = rate(() -> load(loader));
            plain[i] = (before + rate(() -> read(channel))) / 2;
            ratios[i] = loaded[i] / plain[i];
          }
          print(workers, plain, loaded, ratios);
        }
      }
    }
  }

  /** What reads one epoch. */
  private interface Pass {
    long run() throws IOException;
  }

  private double rate(Pass pass) throws Exception {
    if (cold) {
      drop();
    }
    long start = System.nanoTime();
    long read = pass.run();
    double seconds = (System.nanoTime() - start) / 1e9;
    if (read != rows) {
      throw new IllegalStateException("expected %d rows, got %d".formatted(rows, read));
    }
    return rows / seconds;
  }

  /** Takes the file out of the page cache: dd advises the system so, and copies nothing. */
  private void drop() throws Exception {
    int status =
        new ProcessBuilder("dd", "if=" + file, "iflag=nocache", "count=0", "status=none")
            .inheritIO()
            .start()
            .waitFor();
    if (status != 0) {
      throw new IOException("dd ended with " + status);
    }
  }

  private long load(DataLoader loader) {
    long read = 0;
    try (Batches batches = loader.epoch(epoch)) {
      for (Batch next : batches) {
        read += next.size();
      }
    }
    return read;
  }

  private long read(FileChannel channel) throws IOException {
    long[] order = new long[batch];
    long read = 0;
    try (Cursor cursor = sampler.epoch(epoch)) {
      for (int size = cursor.next(order, 0, batch); size > 0; size = cursor.next(order, 0, batch)) {
        for (int i = 0; i < size; i++) {
          buffer.limit((i + 1) * rowBytes).position(i * rowBytes);
          if (channel.read(buffer, order[i] * rowBytes) != rowBytes) {
            throw new IOException("a short read");
          }
        }
        read += size;
      }
    }
    return read;
  }

  private void print(int workers, double[] plain, double[] loaded, double[] ratios) {
    Arrays.sort(ratios);
    PrintStream out = System.out;
    out.printf(
        Locale.ROOT,
        "%6d bytes, batch %d, %s, %d workers: pread %.1f, loader %.1f thousand rows/s, ratio %.2f"
            + " (%.2f to %.2f)%n",
        rowBytes,
        batch,
        cold ? "cold" : "warm",
        workers,
        median(plain) / 1000,
        median(loaded) / 1000,
        median(ratios),
        ratios[0],
        ratios[ratios.length - 1]);
  }

  private static double median(double... values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
  }
}
