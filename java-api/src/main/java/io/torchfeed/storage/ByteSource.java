// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.FileReplacement;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/**
 * Bytes of a fixed length that are read from any position: a file, or an object in a store that
 * serves ranges, such as {@link HttpSource}. Thread-safe: any number of threads read at the same
 * time.
 *
 * <pre>{@code
 * ByteSource lines = ByteSource.file(Path.of("train.csv"));
 * TextPartition plan = TextPartition.of(List.of(lines), 2);
 * }</pre>
 *
 * <p>The readers of sources, and their costs:
 *
 * <table>
 * <caption>Readers of sources</caption>
 * <tr><th>reader</th><th>cost</th></tr>
 * <tr><td>{@link io.torchfeed.text.TextPartition#of lines of text}</td><td>a {@link #read} per
 *     buffer, in the reading thread: a slow one stalls its worker, unless {@link ReadAhead} has
 *     the bytes already</td></tr>
 * <tr><td>{@link io.torchfeed.data.source.CsvFile#of CSV}</td><td>reads of 1 MiB, by the caller;
 *     {@code load} reads twice</td></tr>
 * <tr><td>{@link io.torchfeed.checkpoint.SafetensorsFile#open tensors of safetensors}, {@link
 *     io.torchfeed.checkpoint.TorchFile#open of torch.save}</td><td>large reads for elements, small
 *     ones for headers</td></tr>
 * <tr><td>Java code</td><td>{@link #readFully}, or {@link #stream}</td></tr>
 * <tr><td>rows of npy, npz, idx and raw files, tokens, records, archives and folders of
 *     images</td><td>native code reads local files only: {@link CachedFiles} copies the whole source
 *     once per machine and needs its size on the disk; reading is then as fast as from any
 *     file</td></tr>
 * </table>
 */
public interface ByteSource extends AutoCloseable {
  /**
   * Returns the name in messages and in digests of plans. A source with the name and size of a file
   * counts as this file, so states of one continue with the other.
   *
   * @return a valid path, such as {@code bucket/train.csv}; always the same
   */
  String name();

  /**
   * Returns the number of bytes.
   *
   * @return the size, at least 0; readers require the one at planning time
   * @throws IOException if it cannot be determined
   */
  long size() throws IOException;

  /**
   * Returns a text that changes with the content, such as an ETag. {@link CachedSource} finds its
   * blocks by it.
   *
   * @return the version; empty if none is known, and for local files
   * @throws IOException if it cannot be determined
   */
  default String version() throws IOException {
    return "";
  }

  /**
   * Reads bytes into a buffer, at its position.
   *
   * @param offset the position of the first byte, at least 0
   * @param into a buffer with room for at least one byte; its limit stays where it is
   * @return the number of bytes read, which is also the advance of the buffer's position: at least
   *     1, and often fewer than there is room for; or -1 if the offset is at the end or after it
   * @throws IllegalArgumentException if the offset is negative, or the buffer has no room
   * @throws ByteSourceException if they cannot be read and the source knows more than a reason; its
   *     readers pass it on
   * @throws IOException if they cannot be read; the reader's exception names source and offset
   */
  int read(long offset, ByteBuffer into) throws IOException;

  /**
   * Frees the source; no effect the second time. The program that made a source closes it after its
   * last reader.
   *
   * @throws IOException if that fails
   */
  @Override
  void close() throws IOException;

  /**
   * Opens a local file.
   *
   * @param path a regular file
   * @return the source, named by the path; the caller closes it
   * @throws ByteSourceException if it does not exist, cannot be read or is no regular file
   */
  static ByteSource file(Path path) throws ByteSourceException {
    requireNonNull(path, "path");
    return FileSource.open(path);
  }

  /**
   * Copies all bytes to a local file, for readers of files. The file appears with all its bytes or
   * not at all, also if a read fails or the process ends. An earlier one is replaced: the new one
   * has its permissions, and other hard links to it keep the old content.
   *
   * @param file the new file
   * @throws ByteSourceException if reading the source or its size fails, the size is negative, or
   *     it ends before its size
   * @throws IOException if the file cannot be written
   */
  default void copyTo(Path file) throws IOException {
    requireNonNull(file, "file");
    long size = checkedSize();
    FileReplacement.write(file, channel -> copy(size, channel));
  }

  private long checkedSize() throws ByteSourceException {
    long size;
    try {
      size = size();
    } catch (ByteSourceException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      throw new ByteSourceException(name(), 0, Failures.reason(e), e);
    }
    if (size < 0) {
      throw new ByteSourceException(name(), 0, "its size must be at least 0, got " + size, null);
    }
    return size;
  }

  private void copy(long size, FileChannel channel) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocateDirect((int) Math.max(1, Math.min(size, 1 << 20)));
    for (long offset = 0; offset < size; offset += buffer.limit()) {
      buffer.clear().limit((int) Math.min(buffer.capacity(), size - offset));
      readFully(offset, buffer);
      buffer.flip();
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
      if ((offset >> 20) % 32 == 31) {
        channel.force(false); // while ReadAhead asks for more; else all of it waits at the end
      }
    }
  }

  /**
   * Returns the bytes from the first to the last, for readers of streams. Each read of the source
   * is of 1 MiB or more; {@link ReadAhead} makes them wait less.
   *
   * @return a stream that borrows the source, for one thread
   * @throws ByteSourceException if its size cannot be determined, or is negative
   */
  default InputStream stream() throws ByteSourceException {
    long size = checkedSize();
    int buffer = (int) Math.max(1, Math.min(size, 1 << 20));
    return new BufferedInputStream(new SourceStream(this, size), buffer);
  }

  /**
   * Reads until a buffer is full, by as many calls of {@link #read} as it takes.
   *
   * @param offset the position of the first byte, at least 0
   * @param into a buffer, filled from its position to its limit
   * @throws ByteSourceException if {@link #read} fails or breaks its contract, or the source ends
   *     before the buffer is full; it names the offset of the read that failed
   */
  default void readFully(long offset, ByteBuffer into) throws ByteSourceException {
    requireNonNull(into, "into");
    int start = into.position();
    int end = into.limit();
    while (into.position() < end) {
      int before = into.position();
      long at = offset + before - start;
      int count;
      try {
        count = read(at, into);
      } catch (ByteSourceException e) {
        throw e;
      } catch (IOException | RuntimeException e) {
        throw new ByteSourceException(name(), at, Failures.reason(e), e);
      }
      int moved = into.position() - before;
      if (into.limit() != end) {
        throw new ByteSourceException(
            name(),
            at,
            "read must leave the limit of the buffer at %d, got %d".formatted(end, into.limit()),
            null);
      }
      if (count == -1 && moved == 0) {
        throw new ByteSourceException(name(), at, "it ends here", null);
      }
      if (count < 1 || moved != count) {
        throw new ByteSourceException(
            name(),
            at,
            "read must return by how much it advances the buffer, at least 1, or -1; got %d and %d"
                .formatted(count, moved),
            null);
      }
    }
  }
}
