// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Sha256;
import io.torchfeed.storage.ByteSourceException.Problem;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A folder with local copies of whole sources, for readers of files: rows, records, archives,
 * images and tokens, which native code reads at the speed of any local file. Each object is
 * requested once per machine, and shared by ranks and later programs. Thread-safe.
 *
 * <pre>{@code
 * S3Bucket bucket = S3Bucket.of("training-data");
 * try (CachedFiles files = CachedFiles.of(Path.of("cache"), 200L << 30);
 *     FileDataset rows =
 *         FileDataset.of(
 *             FileColumn.npy(files.path(bucket.source("x.npy"))),
 *             FileColumn.npy(files.path(bucket.source("y.npy"))))) {
 *   TokenFile tokens = TokenFile.raw(DType.UINT16, files.path(bucket.source("train.bin")));
 * }
 * }</pre>
 *
 * <p>Any number of processes share a folder; of those that want the same object at a time, one
 * copies it and the others wait. A copy appears as a whole or not at all, on the disk. It belongs
 * to name, size and {@link ByteSource#version} of the source: another version gets another file,
 * and an object that changes during the copy is the failure of its source. A copy of another size
 * or with another time than when it was made is replaced by a new one; bytes that a damaged disk
 * changes are not noticed, as in any local file. A source that knows no version must not change
 * while its name and size stay.
 *
 * <p>Before a copy is made, the least recently used ones are deleted until all fit the limit, which
 * should be the same in all processes. Those that any process uses stay, from the call that
 * returned their paths until {@link #release}, {@link #close}, or the end of the process.
 *
 * <p>The first batch waits for the copies of all objects, and they need their size on the disk.
 * Lines of text, CSV, tensors and Parquet are read from sources without these costs: see {@link
 * ByteSource}.
 */
public final class CachedFiles implements AutoCloseable {
  private static final int COPIES = 8;
  private static final int MAX_COPIES = 64;

  private final FileFolder folder;

  // guarded by this
  private final List<Use> used = new ArrayList<>();
  private boolean isClosed;

  /** A path that was returned, and the entry of the folder that it belongs to. */
  private record Use(Path path, Path entry) {}

  private CachedFiles(FileFolder folder) {
    this.folder = folder;
  }

  /**
   * Returns the files of a folder.
   *
   * @param folder of the default file system; created when the first copy is made; it should hold
   *     nothing else
   * @param bytes the most that all copies may have, at least 1
   * @return the files; the caller closes them after their last reader
   * @throws IllegalArgumentException if {@code bytes} is less than 1
   */
  public static CachedFiles of(Path folder, long bytes) {
    requireNonNull(folder, "folder");
    if (bytes < 1) {
      throw new IllegalArgumentException("bytes must be at least 1, got " + bytes);
    }
    return new CachedFiles(new FileFolder(folder, bytes));
  }

  /**
   * Returns a local file with the bytes of a source, which is copied if it is not there yet. It is
   * read by several large requests at a time, see {@link ReadAhead}. The path of a {@link
   * ByteSource#file local file} is its own, and nothing is copied.
   *
   * @param source closed in any case
   * @return a file with the last name of the source, in a folder for it alone; it must not be
   *     written
   * @throws ByteSourceException if the source cannot be read, its bytes do not fit the limit beside
   *     the files in use, or the thread is interrupted
   * @throws IOException if the file cannot be written, for example since the disk is full
   * @throws IllegalStateException if this is closed
   */
  public Path path(ByteSource source) throws IOException {
    return copy(requireNonNull(source, "source"), 1);
  }

  /**
   * Returns the local files of sources, each as {@link #path} does. Several are copied at a time.
   *
   * @param sources closed in any case
   * @return the files, in the order of the sources
   * @throws ByteSourceException as {@link #path}
   * @throws IOException as {@link #path}
   * @throws IllegalStateException if this is closed
   */
  public List<Path> paths(List<? extends ByteSource> sources) throws IOException {
    List<ByteSource> all = Checks.copyOf("sources", sources);
    List<Path> paths = new ArrayList<>();
    try (CopiesAhead copies = ahead(all, Math.max(1, Math.min(COPIES, all.size())))) {
      while (copies.hasNext()) {
        paths.add(copies.next());
      }
    }
    return List.copyOf(paths);
  }

  /**
   * Returns the local files of sources one after the other, while the next ones are copied: for
   * archives and parts of a dataset that are read in turn. They may have more bytes than the limit
   * if each is released after its last reader; {@code copies} of them must fit beside those in use.
   *
   * <pre>{@code
   * S3Bucket bucket = S3Bucket.of("training-data");
   * List<HttpSource> tars =
   *     bucket.list("train/").stream().map(tar -> bucket.source(tar.key())).toList();
   * try (CachedFiles cached = CachedFiles.of(Path.of("cache"), 200L << 30);
   *     CopiesAhead shards = cached.ahead(tars, 2)) {
   *   while (shards.hasNext()) {
   *     Path shard = shards.next();
   *     try (ImageTar images = ImageTar.open(List.of(shard), plan)) {
   *       // an epoch of these images
   *     }
   *     cached.release(shard);
   *   }
   * }
   * }</pre>
   *
   * @param sources closed when the returned object is closed
   * @param copies the number of files that are copied at a time, or wait to be taken, in [1, 64]
   * @return the files in the order of the sources; the caller closes it
   * @throws IllegalArgumentException if {@code copies} is out of range
   */
  public CopiesAhead ahead(List<? extends ByteSource> sources, int copies) {
    List<ByteSource> all = Checks.copyOf("sources", sources);
    if (copies < 1 || copies > MAX_COPIES) {
      throw new IllegalArgumentException(
          "copies must be in [1, %d], got %d".formatted(MAX_COPIES, copies));
    }
    return new CopiesAhead(this, all, copies);
  }

  /** Returns the local file of a source, one of some that are copied at a time. */
  Path copy(ByteSource source, int copies) throws IOException {
    try (source) {
      if (source instanceof FileSource file) {
        return file.path();
      }
      Path last = Path.of(source.name()).normalize().getFileName();
      boolean isName = last != null && !last.toString().matches("|\\.\\.");
      Path file = isName ? last : Path.of("data");
      return found(List.of(source), List.of(file), copies, file);
    }
  }

  /**
   * Returns a local folder with the bytes of sources as files, for readers of folders and of files
   * that belong together, for example of Megatron-LM:
   *
   * <pre>{@code
   * S3Bucket bucket = S3Bucket.of("training-data");
   * List<HttpSource> pair = List.of(bucket.source("c4.bin"), bucket.source("c4.idx"));
   * try (CachedFiles cached = CachedFiles.of(Path.of("cache"), 200L << 30)) {
   *   TokenFile tokens = TokenFile.megatron(cached.folder(pair).resolve("c4.bin"));
   * }
   * }</pre>
   *
   * @param sources at least one, closed in any case; a file has the name of its source behind the
   *     folder that all of them have in common, such as {@code cat/1.jpg}
   * @return the folder; nothing in it may be written. All of it is copied again when a source has
   *     changed
   * @throws IllegalArgumentException if there is no source, two have one name, or a name is no
   *     relative path
   * @throws ByteSourceException as {@link #path}
   * @throws IOException as {@link #path}
   * @throws IllegalStateException if this is closed
   */
  public Path folder(List<? extends ByteSource> sources) throws IOException {
    List<ByteSource> all = Checks.copyOf("sources", sources);
    try (ClosedSources closing = new ClosedSources(all)) {
      if (all.isEmpty()) {
        throw new IllegalArgumentException("at least one source is needed, got none");
      }
      return found(all, names(all), Math.min(COPIES, all.size()), Path.of(""));
    }
  }

  /** Returns the names behind the folder that all have in common. */
  private static List<Path> names(List<ByteSource> sources) {
    List<Path> names =
        sources.stream().map(source -> Path.of("/", source.name()).normalize()).toList();
    Path common = names.get(0);
    Set<Path> seen = new HashSet<>();
    for (Path name : names) {
      if (!seen.add(name) || name.getParent() == null) {
        throw new IllegalArgumentException(
            "each source must be named by a path of its own, got " + name);
      }
      while (!name.startsWith(common) || name.equals(common)) {
        common = common.resolve("..").normalize();
      }
    }
    Path root = common;
    return names.stream().map(root::relativize).toList();
  }

  /** Returns a path within the entry of sources, in use until it is released. */
  private Path found(List<ByteSource> sources, List<Path> names, int copies, Path within)
      throws IOException {
    List<FileFolder.Item> items = new ArrayList<>();
    StringBuilder text = new StringBuilder();
    long total = 0;
    for (int i = 0; i < sources.size(); i++) {
      ByteSource source = sources.get(i);
      long size = size(source);
      items.add(new FileFolder.Item(names.get(i), size, source));
      text.append(source.name()).append('\n').append(source.version()).append('\n');
      text.append(size).append('\n').append(names.get(i)).append('\n');
      total = Math.addExact(total, size);
    }
    String entry = "%s-%d".formatted(Sha256.hex(text.toString()).substring(0, 32), total);
    synchronized (this) {
      requireOpen();
    }
    Path files;
    try {
      files = folder.find(entry, total, items, copies);
    } catch (InterruptedException e) {
      throw interrupted(sources.get(0), e);
    }
    synchronized (this) {
      if (isClosed) {
        FileFolder.release(files);
      }
      requireOpen();
      used.add(new Use(files.resolve(within), files));
    }
    return files.resolve(within);
  }

  static ByteSourceException interrupted(ByteSource source, InterruptedException e) {
    Thread.currentThread().interrupt();
    return new ByteSourceException(
        source.name(), Problem.INTERRUPTED, 0, "the thread was interrupted", e);
  }

  private static long size(ByteSource source) throws ByteSourceException {
    long size;
    try {
      size = source.size();
    } catch (ByteSourceException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      throw new ByteSourceException(source.name(), 0, Failures.reason(e), e);
    }
    if (size < 0) {
      String reason = "its size must be at least 0, got " + size;
      throw new ByteSourceException(source.name(), 0, reason, null);
    }
    return size;
  }

  private void requireOpen() {
    if (isClosed) {
      throw new IllegalStateException("CachedFiles is closed");
    }
  }

  /**
   * Ends one use of a file or folder that this object returned, after its last reader: it may be
   * deleted when the bytes of others need room. Has no effect on other paths, not even on files of
   * a returned folder.
   *
   * @param path as it was returned; each call that returned it is one use
   * @throws IOException if the lock that keeps the file from others cannot be given back
   */
  public synchronized void release(Path path) throws IOException {
    requireNonNull(path, "path");
    for (int i = 0; i < used.size(); i++) {
      if (path.equals(used.get(i).path())) {
        FileFolder.release(used.remove(i).entry());
        return;
      }
    }
  }

  /** Ends the use of all files; refuses later calls. */
  @Override
  public synchronized void close() throws IOException {
    isClosed = true;
    while (!used.isEmpty()) {
      FileFolder.release(used.remove(used.size() - 1).entry());
    }
  }

  @Override
  public String toString() {
    return "CachedFiles[%s]".formatted(folder);
  }
}
