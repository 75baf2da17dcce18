// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.LoaderTimeoutException;
import io.torchfeed.data.engine.BatchEngine;
import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.internal.LoaderEvents;
import io.torchfeed.trace.ring.Kind;
import io.torchfeed.trace.ring.Recorder;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The implementation of {@link io.torchfeed.data.loader.Batches}. It refers neither to the {@link
 * io.torchfeed.data.loader.Batches} nor to its loader, so that passes that were dropped without
 * being closed can be detected.
 */
public final class Pass {
  /** A computation on the tensors of a batch before its delivery. */
  @FunctionalInterface
  public interface Finish {
    /**
     * Returns the batch to deliver in place of a loaded one, which ends.
     *
     * @throws Exception if that fails; the loaded batch is left to the caller
     */
    LoadedBatch apply(LoadedBatch loaded) throws Exception;
  }

  private final LoaderCore loader;
  private final BatchEngine engine;
  private final PrefetchScheduler scheduler;
  private final long epoch;
  private final PassLifecycle lifecycle;
  private final PassTimes times;
  private volatile boolean exhausted;
  private final UnderWay underWay = new UnderWay();

  /** Takes ownership of the start. */
  Pass(LoaderCore loader, BatchEngine engine, PassSource.Start start) {
    this.loader = loader;
    this.engine = engine;
    this.epoch = start.epoch();
    this.times = new PassTimes(loader.meter());
    this.lifecycle =
        new PassLifecycle(
            engine,
            "the pass over epoch " + epoch + ", from batch " + start.batch() + " on,",
            new Ends());
    this.scheduler = start.scheduler(engine, loader.prefetch() + 1);
  }

  void begin() {
    lifecycle.enter();
    try {
      times.begin();
      if (!engine.rewind(epoch)) {
        throw new IllegalStateException("the workers are still in an earlier pass");
      }
      scheduler.requestUpTo(loader.prefetch());
      lifecycle.requireOpen();
      engine.start();
      times.started(scheduler.samplingNanos());
    } finally {
      lifecycle.exit();
    }
  }

  public boolean hasNext() {
    lifecycle.enter();
    try {
      return underWay.isPresent() || !isOver();
    } finally {
      lifecycle.exit();
    }
  }

  /**
   * Waits for the next batch.
   *
   * @param finish computes the batch to deliver; runs in this thread, inside of the pass
   * @param view returns the consumer's view of it; only creates an object
   * @throws IllegalStateException if the batch could not be computed
   * @throws OutOfMemoryError if there is no memory for the result or an exception; the next call
   *     continues with the same batch
   */
  public <T> T next(Finish finish, Function<LoadedBatch, T> view) {
    lifecycle.enter();
    try {
      lifecycle.beginTaking();
      LoaderEvents.BatchWait event = LoaderEvents.beginWait();
      long begun = Recorder.begin();
      int ready = exhausted ? 0 : engine.ready();
      while (true) {
        LoadedBatch loaded = underWay.isPresent() ? underWay.loaded() : take(ready, begun, event);
        if (loaded.failure != null) {
          lifecycle.requireOpen(); // the failure of an interrupted engine says nothing of the batch
        }
        if (loaded.hasRows()) {
          return delivered(finish, view);
        }
        end(loaded);
        if (loaded.failure != null) {
          throw loaded.failure;
        }
      }
    } finally {
      lifecycle.exit();
    }
  }

  private LoadedBatch take(int ready, long begun, LoaderEvents.@Nullable BatchWait event) {
    if (isOver()) {
      throw new NoSuchElementException(scheduler.end());
    }
    scheduler.requestUpTo(loader.prefetch() + 1);
    scheduler.throwIfDue();
    LoadedBatch loaded = waiting(() -> engine.take(scheduler.due()));
    underWay.begin(loaded);
    times.report(scheduler.samplingNanos());
    if (loaded.hasRows()) {
      times.delivered(loaded, ready);
      Recorder.end(begun, Kind.BATCH_WAIT, loaded.batch, loaded.bytes, ready);
      if (event != null) {
        event.finish(epoch, loaded.batch, loaded.rows, loaded.bytes, ready);
      }
    }
    return loaded;
  }

  private <T> T delivered(Finish finish, Function<LoadedBatch, T> view) {
    if (!underWay.loaded().isIdentified()) {
      scheduler.identify(underWay.loaded());
    }
    Throwable thrown = underWay.finish(finish);
    LoadedBatch batch = underWay.loaded();
    if (thrown != null) {
      Throwable reason = underWay.reason(thrown);
      end(batch);
      batch.close();
      scheduler.release(batch);
      UnderWay.rethrow(reason);
    }
    T result = view.apply(batch);
    end(batch);
    lifecycle.deliver(batch);
    return result;
  }

  /** Notes that the consumer gets the batch, its failure, or nothing. Allocates nothing. */
  private void end(LoadedBatch loaded) {
    scheduler.deliver(loaded);
    underWay.end();
  }

  private boolean isOver() {
    if (!exhausted && waiting(() -> scheduler.isOver(loader.prefetch()))) {
      exhausted = true;
      times.report(scheduler.samplingNanos());
      lifecycle.finish();
      scheduler.finish();
    }
    return exhausted;
  }

  /**
   * Runs code that may wait for workers. If the pass is closed in the meantime, throws the
   * exception for a closed pass.
   */
  private <T> T waiting(Supplier<T> body) {
    long start = System.nanoTime();
    try {
      return body.get();
    } catch (LoaderTimeoutException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      lifecycle.requireOpen();
      throw e;
    } finally {
      times.waited(System.nanoTime() - start);
    }
  }

  public boolean isPadding(long batch, int element) {
    lifecycle.requireNotClosed();
    return scheduler.isPadding(batch, element);
  }

  public long epoch() {
    return epoch;
  }

  public long position() {
    return scheduler.position();
  }

  public long waitNanos() {
    return times.waitNanos();
  }

  public LoaderState state() {
    lifecycle.requireNotClosed();
    return scheduler.state(exhausted);
  }

  public LoaderState stateAt(long position) {
    lifecycle.requireNotClosed();
    return scheduler.stateAt(position);
  }

  /**
   * Returns whether nothing is lost if the pass is dropped: its end was reported, or it is closed.
   */
  public boolean hasEnded() {
    return exhausted || lifecycle.isClosed();
  }

  /** Begins to close, without waiting for any thread. */
  void interrupt() {
    lifecycle.interrupt();
  }

  public void close() {
    lifecycle.close();
  }

  private final class Ends implements PassLifecycle.Ends {
    @Override
    public void batchEnded(LoadedBatch batch) {
      scheduler.release(batch);
    }

    @Override
    public void engineUnused() {
      underWay.drop();
      loader.giveBack(engine, epoch);
    }

    @Override
    public void passEnded() {
      try {
        loader.forget(Pass.this);
      } finally {
        scheduler.close();
      }
    }
  }
}
