// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.bindings.BatchFeed;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.LoaderInterruptedException;
import io.torchfeed.data.LoaderTimeoutException;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.task.BatchRequest;
import io.torchfeed.data.task.IndexRequest;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.LoaderEvents;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The engine that uses libtorch's C++ data loader. */
final class NativeEngine implements BatchEngine {
  private static final long NOTHING_TAKEN = -1;

  /**
   * The longest native wait. Native code cannot be interrupted, so a wait checks for an interrupt
   * after this time.
   */
  private static final long SLICE_MILLIS = 50;

  private final NativeHandle<BatchFeed> engine;
  private final NativeEngineOptions options;
  private final TensorVectors vectors = new TensorVectors();
  private final LongBuffer info = // about a batch; one call per number would take longer
      ByteBuffer.allocateDirect(BatchFeed.kInfoCount * Long.BYTES)
          .order(ByteOrder.nativeOrder())
          .asLongBuffer();
  private final LongPointer infoAddress = NativeHandle.outsideOfScopes(() -> new LongPointer(info));
  private final long timeoutMillis;
  private long epoch;

  /** The failure of the batch in {@link #info}, until the consumer has an exception for it. */
  private @Nullable Throwable lost;

  private NativeEngine(NativeHandle<BatchFeed> engine, NativeEngineOptions options) {
    this.engine = engine;
    this.options = options;
    this.timeoutMillis = millis(options.timeout());
  }

  /** Returns a timeout in milliseconds, rounded up so that no wait has length 0. */
  private static long millis(@Nullable Duration timeout) {
    return timeout == null
        ? Long.MAX_VALUE
        : TimeUnit.NANOSECONDS.toMillis(timeout.toNanos() - 1) + 1;
  }

  /**
   * Starts the workers.
   *
   * @throws IllegalStateException if they cannot be started
   */
  static NativeEngine create(NativeHandle<RowSet> rows, NativeEngineOptions options) {
    try {
      return new NativeEngine(rows.call(held -> feed(held, options)), options);
    } catch (NativeException e) {
      throw new IllegalStateException(
          "%d worker threads could not be started: %s".formatted(options.workers(), e.getMessage()),
          e);
    }
  }

  private static NativeHandle<BatchFeed> feed(RowSet rows, NativeEngineOptions options) {
    return NativeHandle.create(
        "DataLoader",
        () ->
            BatchFeed.create(
                rows,
                options.batchRows(),
                options.workers(),
                options.prefetch(),
                options.inOrder()));
  }

  @Override
  public void pinFor(String device, boolean once) {
    engine.run(native_ -> native_.pin_for(device, once));
  }

  @Override
  public boolean rewind(long newEpoch) {
    epoch = newEpoch;
    lost = null;
    if (!engine.call(BatchFeed::rewind)) {
      return false;
    }
    engine.run(native_ -> native_.draw_for(options.seed(), newEpoch));
    return true;
  }

  @Override
  public void request(BatchRequest request) {
    if (!(request instanceof IndexRequest list)) {
      throw new IllegalArgumentException("native code takes only index lists");
    }
    engine.run(native_ -> native_.request(list.batch, list.indices, list.size));
  }

  @Override
  public void start() {
    engine.run(BatchFeed::start);
  }

  @Override
  public LoadedBatch take(long due) {
    if (lost != null) {
      return failed(lost);
    }
    long start = System.nanoTime();
    while (true) {
      info.put(BatchFeed.kBatch, NOTHING_TAKEN);
      long left = timeoutMillis - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
      // An interrupted thread takes a ready batch, but does not wait.
      boolean isInterrupted = Thread.currentThread().isInterrupted();
      try {
        LoadedBatch batch = taken(isInterrupted ? 0 : Math.max(0, Math.min(left, SLICE_MILLIS)));
        report(batch, System.nanoTime() - start);
        return batch;
      } catch (RuntimeException | Error e) {
        if (!isSliceOver(e)) {
          return failed(e);
        }
        Duration timeout = options.timeout();
        if (timeout != null && left <= SLICE_MILLIS && !isInterrupted) {
          throw new LoaderTimeoutException(epoch, due, timeout, String.valueOf(e.getMessage()));
        }
        if (Thread.currentThread().isInterrupted()) {
          throw new LoaderInterruptedException(due);
        }
      }
    }
  }

  private static boolean isSliceOver(Throwable e) {
    return e instanceof NativeException error && error.code() == NativeException.Code.TIMEOUT;
  }

  private LoadedBatch taken(long millis) {
    Tensor[] tensors =
        vectors.filled(
            columns -> engine.run(native_ -> native_.take(millis, columns, infoAddress)));
    return LoadedBatch.gathered(
        info.get(BatchFeed.kBatch),
        tensors,
        info.get(BatchFeed.kRows),
        info.get(BatchFeed.kBytes),
        info.get(BatchFeed.kGatherNanos));
  }

  private void report(LoadedBatch batch, long nanos) {
    options
        .meter()
        .taken(
            nanos - info.get(BatchFeed.kAwaitNanos),
            info.get(BatchFeed.kHeldNanos),
            info.get(BatchFeed.kFreshSlabs));
    options.meter().worked(batch.nanos, epoch, batch.batch, batch.nanos);
    LoaderEvents.Gather event = LoaderEvents.beginGather();
    if (event != null) {
      event.finish(epoch, batch.batch, batch.rows, batch.nanos);
    }
  }

  /**
   * Returns the result for a batch that was taken and failed; throws a failure that concerns no
   * batch. If there is no memory for the result, the next call tries again.
   */
  private LoadedBatch failed(Throwable e) {
    if (info.get(BatchFeed.kBatch) == NOTHING_TAKEN) {
      if (e instanceof Error error) {
        throw error;
      }
      throw (RuntimeException) e;
    }
    lost = e;
    LoadedBatch result = resultFor(info.get(BatchFeed.kBatch), e);
    lost = null;
    return result;
  }

  private LoadedBatch resultFor(long batch, Throwable e) {
    if (e instanceof NativeException error && error.code() == NativeException.Code.UNREADABLE) {
      long row = engine.callLong(BatchFeed::unreadable_row);
      return LoadedBatch.failed(
          batch, new SampleException(row, epoch, batch, String.valueOf(e.getMessage()), e));
    }
    return LoadedBatch.failed(
        batch,
        new IllegalStateException(
            ("batch %d of epoch %d, of at most %d rows, could not be gathered: %s; make batches"
                    + " smaller or lower prefetch")
                .formatted(
                    batch,
                    epoch,
                    options.batchRows(),
                    e instanceof NativeException ? e.getMessage() : Failures.describe(e)),
            e));
  }

  /** Returns {@link #NO_REQUEST}: an index list always has rows. */
  @Override
  public long dropIfNothing(long due) {
    return NO_REQUEST;
  }

  @Override
  public long slabBytes() {
    return engine.callLong(BatchFeed::slab_bytes);
  }

  @Override
  public int ready() {
    return Math.toIntExact(engine.callLong(BatchFeed::ready));
  }

  @Override
  public boolean isReady() {
    return engine.call(BatchFeed::is_ready);
  }

  @Override
  public void interrupt() {
    engine.run(BatchFeed::interrupt);
  }

  @Override
  public void close() {
    engine.close();
    vectors.close();
  }
}
