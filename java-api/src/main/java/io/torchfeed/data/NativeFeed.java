// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.BatchFeed;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** libtorch's C++ data loader. */
final class NativeFeed implements Feed {
  private static final long FOR_EVER = -1;

  private final NativeHandle<BatchFeed> feed;
  private final NativeFeedOptions options;
  private final TensorVectors vectors = new TensorVectors();
  private final LongBuffer told = // a call for each number takes longer
      ByteBuffer.allocateDirect(BatchFeed.kToldCount * Long.BYTES)
          .order(ByteOrder.nativeOrder())
          .asLongBuffer();
  private final LongPointer toldThere = NativeHandle.outsideOfScopes(() -> new LongPointer(told));
  private final long timeoutMillis;
  private long epoch;

  private NativeFeed(NativeHandle<BatchFeed> feed, NativeFeedOptions options) {
    this.feed = feed;
    this.options = options;
    this.timeoutMillis = millis(options.timeout());
  }

  /** Rounded up, so that no wait is of length 0. */
  private static long millis(@Nullable Duration timeout) {
    return timeout == null ? FOR_EVER : TimeUnit.NANOSECONDS.toMillis(timeout.toNanos() - 1) + 1;
  }

  /**
   * Starts the workers.
   *
   * @throws IllegalStateException if they cannot be started
   */
  static NativeFeed create(HeldRows rows, NativeFeedOptions options) {
    try {
      return new NativeFeed(rows.feed(options), options);
    } catch (NativeException e) {
      throw new IllegalStateException(
          "%d worker threads could not be started: %s".formatted(options.workers(), e.getMessage()),
          e);
    }
  }

  @Override
  public void pinFor(String device) {
    feed.run(native_ -> native_.pin_for(device));
  }

  @Override
  public boolean rewind(long newEpoch) {
    epoch = newEpoch;
    return feed.call(BatchFeed::rewind);
  }

  @Override
  public void request(long batch, long[] indices, int size) {
    feed.run(native_ -> native_.request(batch, indices, size));
  }

  @Override
  public void start() {
    feed.run(BatchFeed::start);
  }

  @Override
  public Gathered take(long due) {
    Tensor[] tensors;
    try {
      tensors =
          vectors.filled(
              columns -> feed.run(native_ -> native_.take(timeoutMillis, columns, toldThere)));
    } catch (NativeException e) {
      return failed(e, due);
    }
    Gathered gathered =
        Gathered.of(
            told.get(BatchFeed.kBatch),
            tensors,
            told.get(BatchFeed.kRows),
            told.get(BatchFeed.kBytes),
            null);
    tell(gathered, told.get(BatchFeed.kGatherNanos));
    return gathered;
  }

  private void tell(Gathered gathered, long nanos) {
    options.meter().worked(nanos, epoch, gathered.batch, nanos);
    LoaderEvents.Gather event = LoaderEvents.beginGather();
    if (event != null) {
      event.tell(epoch, gathered.batch, gathered.rows, nanos);
    }
  }

  private Gathered failed(NativeException e, long due) {
    String reason = String.valueOf(e.getMessage());
    Duration timeout = options.timeout();
    if (e.code() == NativeException.Code.TIMEOUT && timeout != null) {
      throw new LoaderTimeoutException(epoch, due, timeout, reason);
    }
    long batch = feed.callLong(BatchFeed::batch);
    if (e.code() == NativeException.Code.UNREADABLE) {
      long row = feed.callLong(BatchFeed::unreadable_row);
      return Gathered.failed(batch, new SampleException(row, epoch, batch, reason, e));
    }
    return Gathered.failed(
        batch,
        new IllegalStateException(
            ("batch %d of epoch %d, of at most %d rows, could not be gathered: %s; make batches"
                    + " smaller or lower prefetch")
                .formatted(batch, epoch, options.batchRows(), reason),
            e));
  }

  @Override
  public long slabBytes() {
    return feed.callLong(BatchFeed::slab_bytes);
  }

  @Override
  public int ready() {
    return Math.toIntExact(feed.callLong(BatchFeed::ready));
  }

  @Override
  public boolean isReady() {
    return feed.call(BatchFeed::is_ready);
  }

  @Override
  public void interrupt() {
    feed.run(BatchFeed::interrupt);
  }

  @Override
  public void close() {
    feed.close();
    vectors.close();
  }
}
