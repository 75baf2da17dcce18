// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Failures;
import io.torchfeed.storage.ByteSourceException.Problem;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A source that asks another for several large ranges at a time, ahead of readers that read it from
 * begin to end: their small reads then take bytes from memory, at the rate of the line. Its name,
 * size, version and bytes are the same. Thread-safe.
 *
 * <pre>{@code
 * try (ByteSource object = ReadAhead.of(HttpSource.of(URI.create("http://host/train.csv")))) {
 *   object.copyTo(Path.of("train.csv"));
 * }
 * }</pre>
 *
 * <p>A read that continues an earlier one starts the ranges from there on. Other reads, of random
 * positions, go to the source as they are, unless a range that is held has their bytes. All readers
 * share the ranges, and one at a time uses most of them; a reader far behind another may find its
 * range replaced, and reads it again.
 *
 * <p>The ranges take memory of the Java heap, at most {@code ranges} times {@code rangeBytes}. They
 * are filled by daemon threads, one fewer than ranges, which end with {@link #close} or after ten
 * seconds without work. A failure is thrown to the readers of its range, and forgotten if none
 * waits for it: the next read asks again.
 */
public final class ReadAhead implements ByteSource {
  private static final int RANGE_BYTES = 8 << 20;
  private static final int RANGES = 8;
  private static final int MAX_RANGES = 64;
  private static final int MAX_RANGE_BYTES = 1 << 30;

  private final ByteSource source;
  private final int rangeBytes;
  private final int ranges;
  private final ExecutorService threads;

  // guarded by this
  private boolean isClosed;

  /** The ranges by their number; the one that was used last is last. */
  private final Map<Long, HeldRange> held = new LinkedHashMap<>(16, 0.75f, true);

  /** The positions at which reads have ended, each with nothing; the latest is last. */
  private final Map<Long, Boolean> ends =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Boolean> eldest) {
          return size() > MAX_RANGES;
        }
      };

  private ReadAhead(ByteSource source, int rangeBytes, int ranges) {
    this.source = source;
    this.rangeBytes = rangeBytes;
    this.ranges = ranges;
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            ranges - 1,
            ranges - 1,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            ReadAhead::thread);
    pool.allowCoreThreadTimeOut(true);
    threads = pool;
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "torchfeed-read-ahead");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Reads ahead of others in 8 ranges of 8 MiB.
   *
   * @param source closed with the returned one
   * @return the source that reads ahead; the caller closes it
   */
  public static ReadAhead of(ByteSource source) {
    requireNonNull(source, "source");
    return new ReadAhead(source, RANGE_BYTES, RANGES);
  }

  /**
   * Reads ahead of others.
   *
   * @param source closed with the returned one
   * @param rangeBytes the bytes of a range, in [1, 2<sup>30</sup>]: 8 to 16 MiB for object stores
   * @param ranges the number of ranges in memory, in [2, 64]; all but one may be requested at a
   *     time
   * @return the source that reads ahead; the caller closes it
   * @throws IllegalArgumentException if a number is out of range
   */
  public static ReadAhead of(ByteSource source, int rangeBytes, int ranges) {
    requireNonNull(source, "source");
    if (rangeBytes < 1 || rangeBytes > MAX_RANGE_BYTES) {
      throw new IllegalArgumentException(
          "rangeBytes must be in [1, %d], got %d".formatted(MAX_RANGE_BYTES, rangeBytes));
    }
    if (ranges < 2 || ranges > MAX_RANGES) {
      throw new IllegalArgumentException(
          "ranges must be in [2, %d], got %d".formatted(MAX_RANGES, ranges));
    }
    return new ReadAhead(source, rangeBytes, ranges);
  }

  @Override
  public String name() {
    return source.name();
  }

  @Override
  public long size() throws IOException {
    return source.size();
  }

  @Override
  public String version() throws IOException {
    return source.version();
  }

  @Override
  public int read(long offset, ByteBuffer into) throws IOException {
    ReadArguments.require(offset, into);
    @Nullable HeldRange range = rangeOf(offset);
    int count = 0;
    try {
      if (range == null) {
        count = source.read(offset, into);
      } else {
        awaitLoaded(range, offset);
        count = range.copy(offset, into);
      }
      return count;
    } finally {
      ended(range, offset + count, count > 0);
    }
  }

  /** Returns the range of a byte, in use by the caller; null if the source is to be asked. */
  private @Nullable HeldRange rangeOf(long offset) throws IOException {
    boolean continues;
    @Nullable HeldRange range;
    synchronized (this) {
      requireOpen();
      continues = ends.remove(offset) != null;
      range = held.get(offset / rangeBytes);
      if (range != null) {
        range.users++;
      }
    }
    long size = continues ? source.size() : 0; // may ask the store
    if (!continues || offset >= size) {
      return range;
    }
    synchronized (this) {
      requireOpen();
      if (range == null) {
        range = started(offset / rangeBytes, size, true);
        if (range == null) {
          return null; // others use all of them
        }
        range.users++;
      }
      startAhead(range.number, size);
    }
    return range;
  }

  private void startAhead(long number, long size) {
    for (int i = 1; i < ranges; i++) {
      if ((number + i) * rangeBytes >= size || started(number + i, size, false) == null) {
        break;
      }
    }
    for (int i = ranges - 1; i >= 0; i--) {
      held.get(number + i); // another reader would replace the farthest
    }
  }

  /** Returns a range, which it requests if necessary; null if none can be replaced by it. */
  private @Nullable HeldRange started(long number, long size, boolean isWanted) {
    @Nullable HeldRange range = held.get(number);
    if (range != null) {
      return range;
    }
    byte[] bytes = null;
    if (held.size() >= ranges) {
      bytes = freed(isWanted);
      if (bytes == null) {
        return null;
      }
    }
    long start = number * rangeBytes;
    int count = (int) Math.min(rangeBytes, size - start);
    if (bytes == null || bytes.length < count) {
      bytes = new byte[count];
    }
    HeldRange added = new HeldRange(number, start, count, bytes);
    held.put(number, added);
    threads.execute(() -> fill(added));
    return added;
  }

  /** Drops a range that has been read, or any for a reader that waits; returns its memory. */
  private byte @Nullable [] freed(boolean isWanted) {
    @Nullable HeldRange dropped = null;
    for (HeldRange each : held.values()) {
      boolean isIdle = each.users == 0 && each.isLoaded;
      if (isIdle && (each.isRead || (isWanted && dropped == null))) {
        dropped = each;
        if (each.isRead) {
          break;
        }
      }
    }
    if (dropped == null) {
      return null;
    }
    held.remove(dropped.number);
    return dropped.bytes;
  }

  private void fill(HeldRange range) {
    try {
      source.readFully(range.start, ByteBuffer.wrap(range.bytes, 0, range.count));
      loaded(range, null);
    } catch (ByteSourceException e) {
      loaded(range, e);
    } catch (Throwable e) { // no reader waits for a thread that has ended
      loaded(range, new ByteSourceException(name(), range.start, Failures.reason(e), e));
    }
  }

  private synchronized void loaded(HeldRange range, @Nullable ByteSourceException failure) {
    range.isLoaded = true;
    range.failure = failure;
    if (failure != null) {
      held.remove(range.number, range);
    }
    notifyAll();
  }

  private synchronized void awaitLoaded(HeldRange range, long offset) throws IOException {
    while (!range.isLoaded) {
      requireOpen();
      try {
        wait();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new ByteSourceException(
            name(), Problem.INTERRUPTED, offset, "the thread was interrupted", e);
      }
    }
    requireOpen();
    ByteSourceException failure = range.failure;
    if (failure != null) {
      throw failure.at(offset);
    }
  }

  private synchronized void ended(@Nullable HeldRange range, long end, boolean hasRead) {
    if (range != null) {
      range.users--;
      range.isRead |= end == range.start + range.count;
    }
    if (hasRead) {
      ends.put(end, true);
    }
  }

  private void requireOpen() throws ClosedChannelException {
    if (isClosed) {
      throw new ClosedChannelException();
    }
  }

  /**
   * Ends the threads, refuses later reads and those that wait for a range, and closes the source.
   */
  @Override
  public void close() throws IOException {
    synchronized (this) {
      isClosed = true;
      held.clear();
      notifyAll();
    }
    threads.shutdownNow();
    source.close();
  }

  @Override
  public String toString() {
    return "ReadAhead[%s]".formatted(name());
  }

  /** Bytes of the source in memory; fields are guarded by the source that reads ahead. */
  private static final class HeldRange {
    private final long number;
    private final long start;
    private final int count;
    private final byte[] bytes;
    private boolean isLoaded;

    /** Set by a reader at its end. */
    private boolean isRead;

    /** The number of readers that wait or copy. */
    private int users;

    private @Nullable ByteSourceException failure;

    HeldRange(long number, long start, int count, byte[] bytes) {
      this.number = number;
      this.start = start;
      this.count = count;
      this.bytes = bytes;
    }

    int copy(long offset, ByteBuffer into) {
      int from = (int) (offset - start);
      if (from >= count) {
        return -1;
      }
      int copied = Math.min(into.remaining(), count - from);
      into.put(bytes, from, copied);
      return copied;
    }
  }
}
