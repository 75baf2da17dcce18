// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.RegularFile;
import io.torchfeed.text.TextFileException.Problem;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import org.jspecify.annotations.Nullable;

/**
 * The text of one open file, read forwards. A file that has changed since it was planned is
 * refused.
 */
final class TextSource implements AutoCloseable {
  private final TextFile file;
  private final FileChannel channel;

  /** The decompressed text; null if the file is not compressed. */
  private final @Nullable InputStream unpacked;

  /** The maximum size of a read: the JDK keeps a buffer of this size for each reading thread. */
  private final int mostBytes;

  private long position;

  private TextSource(
      TextFile file, FileChannel channel, @Nullable InputStream unpacked, int mostBytes) {
    this.file = file;
    this.channel = channel;
    this.unpacked = unpacked;
    this.mostBytes = mostBytes;
  }

  static TextSource open(TextFile file, int mostBytes) {
    String otherKind = RegularFile.otherKind(file.path());
    if (otherKind != null) {
      throw new TextFileException(
          file.path(), Problem.UNREADABLE, "must be a regular file, got " + otherKind);
    }
    FileChannel channel = null;
    try {
      channel = FileChannel.open(file.path(), StandardOpenOption.READ);
      requireAsPlanned(file, channel);
      InputStream packed = new BufferedInputStream(Channels.newInputStream(channel), 1 << 16);
      return new TextSource(file, channel, file.compression().unpacked(packed), mostBytes);
    } catch (IOException e) {
      closeQuietly(channel, e);
      throw failed(file, 0, e);
    } catch (LinkageError e) {
      closeQuietly(channel, e);
      throw new TextFileException(
          file.path(),
          Problem.UNREADABLE,
          "cannot be decompressed without com.github.luben:zstd-jni; add it to the class path",
          e);
    } catch (TextFileException e) {
      closeQuietly(channel, e);
      throw e;
    }
  }

  private static void closeQuietly(@Nullable FileChannel channel, Throwable cause) {
    if (channel != null) {
      try {
        channel.close();
      } catch (IOException e) {
        cause.addSuppressed(e);
      }
    }
  }

  private static void requireAsPlanned(TextFile file, FileChannel channel) throws IOException {
    long bytes = channel.size();
    if (bytes != file.bytes()) {
      throw new TextFileException(
          file.path(),
          bytes < file.bytes() ? Problem.SHRUNK : Problem.GROWN,
          "must have the planned %d bytes, got %d; plan again".formatted(file.bytes(), bytes));
    }
    FileTime modified = Files.getLastModifiedTime(file.path());
    if (!modified.equals(file.modified())) {
      throw new TextFileException(
          file.path(),
          Problem.CHANGED,
          "must have the planned modification time %s, got %s; plan again"
              .formatted(file.modified(), modified));
    }
  }

  void requireAsPlanned() {
    try {
      requireAsPlanned(file, channel);
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** Skips forward: immediately in plain text, by decompressing in compressed text. */
  void skipTo(long offset) {
    try {
      if (unpacked == null) {
        position = offset;
      } else {
        unpacked.skipNBytes(offset - position);
        position = offset;
      }
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** Reads bytes; returns their number, at least 1, or -1 at the end of the text. */
  int read(byte[] into, int from, int count) {
    try {
      int read = unpacked == null ? readPlain(into, from, count) : unpacked.read(into, from, count);
      if (read < 0) {
        requireAsPlanned(file, channel);
      } else {
        position += read;
      }
      return read;
    } catch (IOException e) {
      throw failed(e);
    }
  }

  private int readPlain(byte[] into, int from, int count) throws IOException {
    if (position == file.bytes()) {
      return -1;
    }
    long most = Math.min(Math.min(count, mostBytes), file.bytes() - position);
    int read = channel.read(ByteBuffer.wrap(into, from, (int) most), position);
    if (read < 0) {
      requireAsPlanned(file, channel);
      throw new TextFileException(
          file.path(),
          Problem.SHRUNK,
          "must have the planned %d bytes, but ended at %d".formatted(file.bytes(), position));
    }
    return read;
  }

  private TextFileException failed(IOException e) {
    return failed(file, position, e);
  }

  private static TextFileException failed(TextFile file, long position, IOException e) {
    return e instanceof NoSuchFileException
        ? new TextFileException(
            file.path(), Problem.MISSING, "no longer exists, but did when it was planned", e)
        : new TextFileException(
            file.path(),
            Problem.UNREADABLE,
            "cannot be read after %d bytes of its text: %s".formatted(position, Failures.reason(e)),
            e);
  }

  @Override
  public void close() {
    try (channel) {
      if (unpacked != null) {
        unpacked.close();
      }
    } catch (IOException e) {
      throw failed(e);
    }
  }
}
