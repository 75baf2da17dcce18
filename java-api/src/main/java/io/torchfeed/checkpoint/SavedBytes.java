// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.FileContent;
import io.torchfeed.internal.RegularFile;
import io.torchfeed.storage.ByteSource;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.NonWritableChannelException;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;

/** The opening of a checkpoint's files. */
final class SavedBytes {
  private SavedBytes() {}

  /**
   * Opens a regular file to read.
   *
   * @return the channel; the caller closes it
   * @throws CheckpointException if it is missing, unreadable or of another kind
   */
  static FileChannel open(Path file) {
    requireRegular(file);
    try {
      return FileChannel.open(file, StandardOpenOption.READ);
    } catch (IOException e) {
      throw CheckpointException.unreadable(file, e);
    }
  }

  /**
   * Opens a source to read.
   *
   * @param source borrowed
   * @return the channel; the caller closes it
   * @throws CheckpointException if its size cannot be determined
   */
  static FileChannel open(ByteSource source) {
    Path name = Path.of(requireNonNull(source.name(), "the name of a source"));
    long size;
    try {
      size = source.size();
    } catch (IOException e) {
      throw CheckpointException.unreadable(name, e);
    } catch (RuntimeException e) {
      throw CheckpointException.unreadable(name, new IOException(Failures.reason(e), e));
    }
    if (size < 0) {
      throw CheckpointException.unreadable(
          name, new IOException("its size must be at least 0, got " + size));
    }
    return new SourceChannel(source, size);
  }

  /**
   * Checks that a file that has been written is complete.
   *
   * @throws IOException if it has another size
   */
  static void requireSize(FileChannel file, long bytes) throws IOException {
    if (file.size() != bytes) {
      throw new IOException(
          "%d bytes were to be written, the file has %d".formatted(bytes, file.size()));
    }
  }

  /**
   * Checks that a path, if there is anything, names a regular file.
   *
   * @throws CheckpointException if it is of another kind
   */
  static void requireRegular(Path file) {
    String kind = RegularFile.otherKind(file);
    if (kind != null) {
      throw new CheckpointException(
          file, Problem.UNREADABLE, "it must be a regular file, got " + kind);
    }
  }

  /** Fills a buffer with the bytes from a position on. */
  static void readFully(FileChannel channel, ByteBuffer into, long position) throws IOException {
    for (long at = position; into.hasRemaining(); ) {
      int count = channel.read(into, at);
      if (count < 0) {
        throw new EOFException("the file became shorter");
      }
      at += count;
    }
  }

  /** Returns the bytes by which {@link FileContent} knows a format. */
  static byte[] begin(FileChannel channel) throws IOException {
    ByteBuffer begin = ByteBuffer.allocate((int) Math.min(channel.size(), FileContent.BEGIN_BYTES));
    readFully(channel, begin, 0);
    return begin.array();
  }

  /** The first bytes of a stream. */
  static final class FirstBytes extends InputStream {
    private final InputStream stream;
    private final Consumer<ByteBuffer> seen;
    private long left;

    FirstBytes(InputStream stream, long left) {
      this(stream, left, read -> {});
    }

    /** Passes on bytes that are read, and none that are skipped. */
    FirstBytes(InputStream stream, long left, Consumer<ByteBuffer> seen) {
      this.stream = stream;
      this.seen = seen;
      this.left = left;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] into, int from, int length) throws IOException {
      if (left == 0) {
        return -1;
      }
      int count = stream.read(into, from, (int) Math.min(length, left));
      if (count > 0) {
        left -= count;
        seen.accept(ByteBuffer.wrap(into, from, count));
      }
      return count;
    }

    @Override
    public long skip(long count) throws IOException {
      long skipped = stream.skip(Math.min(count, left));
      left -= skipped;
      return skipped;
    }
  }

  /** A source as a file that is open to read. It borrows the source. */
  private static final class SourceChannel extends FileChannel {
    private final ByteSource source;
    private final long size;
    private long position;

    private SourceChannel(ByteSource source, long size) {
      this.source = source;
      this.size = size;
    }

    @Override
    public int read(ByteBuffer into, long at) throws IOException {
      if (!into.hasRemaining() || at >= size) {
        return into.hasRemaining() ? -1 : 0;
      }
      int limit = into.limit();
      int count = (int) Math.min(into.remaining(), size - at);
      into.limit(into.position() + count);
      try {
        source.readFully(at, into);
      } finally {
        into.limit(limit);
      }
      return count;
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
      int count = read(into, position);
      position += Math.max(count, 0);
      return count;
    }

    @Override
    public long read(ByteBuffer[] into, int from, int length) throws IOException {
      int count = read(into[from]);
      return count; // fewer than all of them
    }

    @Override
    public long position() {
      return position;
    }

    @Override
    public FileChannel position(long newPosition) {
      position = newPosition;
      return this;
    }

    @Override
    public long size() {
      return size;
    }

    @Override
    public void force(boolean metaData) {}

    @Override
    protected void implCloseChannel() {}

    @Override
    public long transferTo(long from, long count, WritableByteChannel target) {
      throw new UnsupportedOperationException();
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long from, long count) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileLock lock(long from, long count, boolean isShared) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileLock tryLock(long from, long count, boolean isShared) {
      throw new UnsupportedOperationException();
    }

    @Override
    public int write(ByteBuffer from) {
      throw new NonWritableChannelException();
    }

    @Override
    public long write(ByteBuffer[] from, int first, int length) {
      throw new NonWritableChannelException();
    }

    @Override
    public int write(ByteBuffer from, long at) {
      throw new NonWritableChannelException();
    }

    @Override
    public FileChannel truncate(long newSize) {
      throw new NonWritableChannelException();
    }

    @Override
    public long transferFrom(ReadableByteChannel from, long at, long count) {
      throw new NonWritableChannelException();
    }
  }
}
