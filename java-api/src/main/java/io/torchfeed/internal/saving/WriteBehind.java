// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import org.jspecify.annotations.Nullable;

/**
 * A file whose bytes go to the disk while the next ones are written. Without it, the system keeps
 * them for some seconds or until a tenth of the memory has such bytes, and the disk waits.
 *
 * <p>A second thread flushes; small files need none. One thread at a time writes.
 */
public final class WriteBehind implements WritableByteChannel {
  /** Each flush costs a write to the journal of the file system. */
  private static final long STRIDE = 32L << 20;

  private final FileChannel file;
  private @Nullable Thread thread;

  // guarded by this
  private long waiting;
  private boolean isEnded;
  private @Nullable Throwable failure;

  /**
   * Creates a channel.
   *
   * @param file borrowed; the caller flushes its last bytes once this is closed
   */
  public WriteBehind(FileChannel file) {
    this.file = file;
  }

  /**
   * Writes bytes.
   *
   * @throws IOException if they cannot be written, or earlier ones could not be flushed
   */
  @Override
  public int write(ByteBuffer from) throws IOException {
    requireFlushed();
    int count = file.write(from);
    if (note(count) && thread == null) {
      Thread started = new Thread(this::flush, "torchfeed-flush");
      started.setDaemon(true);
      started.start();
      thread = started;
    }
    return count;
  }

  /** Counts bytes; returns whether a flush is next. */
  private synchronized boolean note(int count) {
    waiting += count;
    if (waiting < STRIDE) {
      return false;
    }
    notifyAll();
    return true;
  }

  private void flush() {
    try {
      while (isDue()) {
        file.force(false);
      }
    } catch (InterruptedException e) {
      fail(new InterruptedIOException("interrupted while flushing"));
    } catch (IOException | RuntimeException | Error e) {
      fail(e);
    }
  }

  /** Waits until a flush is next; returns false at the end. */
  private synchronized boolean isDue() throws InterruptedException {
    while (waiting < STRIDE && !isEnded) {
      wait();
    }
    waiting = 0;
    return !isEnded;
  }

  private synchronized void fail(Throwable thrown) {
    failure = thrown;
  }

  private synchronized void end() {
    isEnded = true;
    notifyAll();
  }

  /** Tells a failure, which the system reports to the first flush alone. */
  private synchronized void requireFlushed() throws IOException {
    if (failure != null) {
      throw new IOException(failure.getMessage(), failure);
    }
  }

  @Override
  public boolean isOpen() {
    return file.isOpen();
  }

  /**
   * Waits for the flush in progress. The last bytes are not flushed.
   *
   * @throws IOException if bytes could not be flushed
   */
  @Override
  public void close() throws IOException {
    end();
    Joins.join(thread);
    requireFlushed();
  }
}
