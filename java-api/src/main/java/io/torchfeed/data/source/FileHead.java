// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.FileContent;
import io.torchfeed.internal.RegularFile;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.function.Function;

/** The start of a file, or of a member of an archive, whose header is being parsed. */
final class FileHead {
  private final Path path;
  private final Source source;
  private final long start;
  private final long size;

  /** The bytes. */
  @FunctionalInterface
  interface Source {
    /**
     * Reads bytes.
     *
     * @param position of the first one, in the file or the member
     * @return their number, at least 1; -1 at the end
     */
    int read(ByteBuffer into, long position) throws IOException;
  }

  /**
   * Describes the start.
   *
   * @param start the bytes before it in the file
   * @param size the bytes from it on
   */
  FileHead(Path path, Source source, long start, long size) {
    this.path = path;
    this.source = source;
    this.start = start;
    this.size = size;
  }

  /** Opens the file while {@code reader} parses its header. */
  static <T> T read(Path path, Function<FileHead, T> reader) {
    if (path.getFileSystem() != FileSystems.getDefault()) {
      throw new IllegalArgumentException(
          path + " must be a file of the default file system, got one of " + path.getFileSystem());
    }
    RegularFile.require(path);
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      return reader.apply(new FileHead(path, channel::read, 0, channel.size()));
    } catch (IOException e) {
      throw unreadable(path, e);
    }
  }

  static UncheckedIOException unreadable(Path path, IOException e) {
    return new UncheckedIOException(
        "cannot read rows from %s: %s".formatted(path, Failures.reason(e)), e);
  }

  Path path() {
    return path;
  }

  /** Returns the bytes before the start in the file. */
  long start() {
    return start;
  }

  /** Returns the start of a part of the same file. */
  FileHead within(long from, long bytes) {
    return new FileHead(
        path, (into, position) -> source.read(into, from + position), start + from, bytes);
  }

  long size() {
    return size;
  }

  /**
   * Returns some bytes of the header.
   *
   * @param what the name of these bytes, for the message if the file is too short
   */
  ByteBuffer bytes(long from, int count, String what) {
    if (from < 0 || from > size - count) {
      throw refused(
          "must hold %s, bytes %d to %d".formatted(what, from, from + count),
          "a file of %d bytes".formatted(size));
    }
    ByteBuffer buffer = ByteBuffer.allocate(count);
    try {
      while (buffer.hasRemaining()) {
        if (source.read(buffer, from + buffer.position()) < 0) {
          throw new EOFException("it became shorter while it was read");
        }
      }
    } catch (IOException e) {
      throw unreadable(path, e);
    }
    return buffer.flip();
  }

  /** Returns the exception for a file that violates a rule. */
  IllegalArgumentException refused(String rule, String got) {
    return new IllegalArgumentException("%s %s, got %s".formatted(path, rule, got));
  }

  /** Returns the exception for a file in another format; it names that or quotes the beginning. */
  IllegalArgumentException notThisFormat(String rule) {
    byte[] begin = new byte[(int) Math.min(FileContent.BEGIN_BYTES, size)];
    bytes(0, begin.length, "a header").get(begin);
    String content = FileContent.of(begin);
    return refused(
        rule,
        begin.length == 0
            ? "an empty file"
            : HexFormat.ofDelimiter(" ").formatHex(Arrays.copyOf(begin, Math.min(8, begin.length)))
                + (content == null ? "" : ", " + content));
  }
}
