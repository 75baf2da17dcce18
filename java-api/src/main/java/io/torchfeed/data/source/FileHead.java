// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.FileContent;
import io.torchfeed.internal.RegularFile;
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

/** The start of a file whose header is being parsed, and the size of the file. */
final class FileHead {
  private final Path path;
  private final FileChannel channel;
  private final long size;

  private FileHead(Path path, FileChannel channel, long size) {
    this.path = path;
    this.channel = channel;
    this.size = size;
  }

  /** Opens the file while {@code reader} parses its header. */
  static RowFile read(Path path, Function<FileHead, RowFile> reader) {
    if (path.getFileSystem() != FileSystems.getDefault()) {
      throw new IllegalArgumentException(
          path + " must be a file of the default file system, got one of " + path.getFileSystem());
    }
    RegularFile.require(path);
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      return reader.apply(new FileHead(path, channel, channel.size()));
    } catch (IOException e) {
      throw unreadable(path, e);
    }
  }

  private static UncheckedIOException unreadable(Path path, IOException e) {
    return new UncheckedIOException(
        "cannot read rows from %s: %s".formatted(path, Failures.reason(e)), e);
  }

  Path path() {
    return path;
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
    if (from + count > size) {
      throw refused(
          "must hold %s, bytes %d to %d".formatted(what, from, from + count),
          "a file of %d bytes".formatted(size));
    }
    ByteBuffer buffer = ByteBuffer.allocate(count);
    try {
      while (buffer.hasRemaining()) {
        if (channel.read(buffer, from + buffer.position()) < 0) {
          throw new IOException("it became shorter while it was read");
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
