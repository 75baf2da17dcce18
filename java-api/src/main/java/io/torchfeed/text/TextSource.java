// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.RegularFile;
import io.torchfeed.storage.ByteSource;
import io.torchfeed.text.TextFileException.Problem;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
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
  private final Bytes bytes;

  /** The decompressed text; null if the file is not compressed. */
  private final @Nullable InputStream unpacked;

  /** The maximum size of a read: the JDK keeps a buffer of this size for each reading thread. */
  private final int mostBytes;

  private long position;

  private TextSource(TextFile file, Bytes bytes, @Nullable InputStream unpacked, int mostBytes) {
    this.file = file;
    this.bytes = bytes;
    this.unpacked = unpacked;
    this.mostBytes = mostBytes;
  }

  /** The stored bytes of a text. */
  private interface Bytes extends AutoCloseable {
    /** Reads at least one byte; returns -1 at the end. */
    int read(long offset, ByteBuffer into) throws IOException;

    long size() throws IOException;

    @Override
    void close() throws IOException;
  }

  /** A file that this process opens by itself. */
  private record OpenFile(FileChannel channel) implements Bytes {
    @Override
    public int read(long offset, ByteBuffer into) throws IOException {
      return channel.read(into, offset);
    }

    @Override
    public long size() throws IOException {
      return channel.size();
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  /** A source that the program owns. */
  private record Borrowed(ByteSource source) implements Bytes {
    @Override
    public int read(long offset, ByteBuffer into) throws IOException {
      int count = into.remaining();
      source.readFully(offset, into);
      return count;
    }

    @Override
    public long size() throws IOException {
      return sizeOf(source);
    }

    @Override
    public void close() {
      // the program closes it
    }
  }

  /** Returns the size of a source; whatever it throws is an {@link IOException}. */
  static long sizeOf(ByteSource source) throws IOException {
    long size;
    try {
      size = source.size();
    } catch (RuntimeException e) {
      throw new IOException(Failures.reason(e), e);
    }
    if (size < 0) {
      throw new IOException("its size must be at least 0, got " + size);
    }
    return size;
  }

  /**
   * Opens a text.
   *
   * @param source the bytes of the file; null if it is to be opened by its path
   */
  static TextSource open(TextFile file, @Nullable ByteSource source, int mostBytes) {
    Bytes bytes = source == null ? null : new Borrowed(source);
    try {
      if (bytes == null) {
        bytes = openFile(file);
      }
      requireAsPlanned(file, bytes);
      InputStream packed = new BufferedInputStream(new Stored(bytes, file.bytes()), 1 << 16);
      return new TextSource(file, bytes, file.compression().unpacked(packed), mostBytes);
    } catch (IOException e) {
      closeQuietly(bytes, e);
      throw failed(file, 0, e);
    } catch (LinkageError e) {
      closeQuietly(bytes, e);
      throw new TextFileException(
          file.path(),
          Problem.UNREADABLE,
          "cannot be decompressed without com.github.luben:zstd-jni; add it to the class path",
          e);
    } catch (TextFileException e) {
      closeQuietly(bytes, e);
      throw e;
    }
  }

  private static Bytes openFile(TextFile file) throws IOException {
    String otherKind = RegularFile.otherKind(file.path());
    if (otherKind != null) {
      throw new TextFileException(
          file.path(), Problem.UNREADABLE, "must be a regular file, got " + otherKind);
    }
    return new OpenFile(FileChannel.open(file.path(), StandardOpenOption.READ));
  }

  private static void closeQuietly(@Nullable Bytes bytes, Throwable cause) {
    if (bytes != null) {
      try {
        bytes.close();
      } catch (IOException e) {
        cause.addSuppressed(e);
      }
    }
  }

  /**
   * All stored bytes of a text, from the first on. The last one comes alone: zstd-jni notices the
   * end of a file within a frame only if it has read something since the last whole frame.
   */
  private static final class Stored extends InputStream {
    private final Bytes bytes;
    private final long size;
    private long position;

    Stored(Bytes bytes, long size) {
      this.bytes = bytes;
      this.size = size;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] into, int from, int count) throws IOException {
      long left = size - position;
      int most = (int) Math.min(count, left > 1 ? left - 1 : left);
      if (most == 0) {
        return count == 0 ? 0 : -1;
      }
      int read = bytes.read(position, ByteBuffer.wrap(into, from, most));
      position += Math.max(0, read);
      return read;
    }
  }

  private static void requireAsPlanned(TextFile file, Bytes stored) throws IOException {
    long bytes = stored.size();
    if (bytes != file.bytes()) {
      throw new TextFileException(
          file.path(),
          bytes < file.bytes() ? Problem.SHRUNK : Problem.GROWN,
          "must have the planned %d bytes, got %d; plan again".formatted(file.bytes(), bytes));
    }
    if (stored instanceof Borrowed) {
      return; // its size is all that a source tells
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
      requireAsPlanned(file, bytes);
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
        requireAsPlanned(file, bytes);
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
    int read = bytes.read(position, ByteBuffer.wrap(into, from, (int) most));
    if (read < 0) {
      requireAsPlanned(file, bytes);
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
    try (bytes) {
      if (unpacked != null) {
        unpacked.close();
      }
    } catch (IOException e) {
      throw failed(e);
    }
  }
}
