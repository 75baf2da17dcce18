// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;

/** A file that counts its bytes, with flushes of a test. */
final class FaultyFile extends FileChannel {
  /** A flush. */
  @FunctionalInterface
  interface Flush {
    void run() throws IOException, InterruptedException;
  }

  private final Flush flush;
  private long written;

  FaultyFile(Flush flush) {
    this.flush = flush;
  }

  long written() {
    return written;
  }

  @Override
  public int write(ByteBuffer from) {
    int count = from.remaining();
    from.position(from.limit());
    written += count;
    return count;
  }

  @Override
  public void force(boolean metaData) throws IOException {
    try {
      flush.run();
    } catch (InterruptedException e) {
      throw new InterruptedIOException(e.getMessage());
    }
  }

  @Override
  protected void implCloseChannel() {}

  @Override
  public int read(ByteBuffer into) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long read(ByteBuffer[] into, int from, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int read(ByteBuffer into, long at) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long write(ByteBuffer[] from, int first, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int write(ByteBuffer from, long at) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long position() {
    return written;
  }

  @Override
  public FileChannel position(long newPosition) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long size() {
    return written;
  }

  @Override
  public FileChannel truncate(long newSize) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long transferTo(long from, long count, WritableByteChannel target) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long transferFrom(ReadableByteChannel from, long at, long count) {
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
}
