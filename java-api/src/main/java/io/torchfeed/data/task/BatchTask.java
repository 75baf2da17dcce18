// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.data.SampleException;
import io.torchfeed.internal.LoaderEvents;
import io.torchfeed.memory.Slab;
import io.torchfeed.trace.ring.Kind;
import io.torchfeed.trace.ring.Recorder;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A batch to be filled by Java code. It is written by the thread that fills it until {@link #end},
 * which publishes the result through the engine's monitor.
 */
public abstract non-sealed class BatchTask implements BatchRequest {
  private static final int[] NO_LENGTHS = {};

  public final long epoch;

  /** The number of the request. */
  public final long batch;

  /** True if the result is unwanted; checked between samples by the code that fills the batch. */
  volatile boolean cancelled;

  // The sample being read, and since when; read for the message of a timeout.
  private final AtomicLong sample = new AtomicLong(-1);
  private final AtomicLong since = new AtomicLong();

  // The result.
  @Nullable Slab slab;
  int rows;
  int[] lengths = NO_LENGTHS; // length of the batch in each column of variable length
  int @Nullable [] elements; // position of each row in the index list, if samples were skipped
  Tensor @Nullable [] made; // tensors of a transform; otherwise they are views of the slab
  @Nullable SkippedSamples skipped; // those left out
  long nanos; // time that filling took
  @Nullable Throwable error; // failure not thrown by a sample

  private boolean done; // guarded by the engine's monitor
  private boolean wasInterrupted;
  private int worker;
  private long slowestIndex;
  private long slowestNanos = -1;
  private boolean showsSamples;
  private LoaderEvents.@Nullable Sample shown;

  BatchTask(long epoch, long batch) {
    this.epoch = epoch;
    this.batch = batch;
    this.worker = -1;
  }

  /** Writes the samples; an exception of a sample is recorded, any other may be thrown. */
  abstract void fillRows(Slab into, Worker by);

  /** Returns the sample that distinguishes the batch from others of its epoch. */
  abstract long firstSample();

  /** Returns the numbers of the samples in the rows. */
  public abstract long[] samples();

  /**
   * Returns the failure of the sample that cost the batch; null if there is none.
   *
   * @param number the number of the batch in its epoch
   */
  public abstract @Nullable SampleException failure(long number);

  /** Returns whether the request turned out to be for nothing: there is no such batch. */
  public boolean isNothing() {
    return false;
  }

  /**
   * Returns the number of the batch in its epoch, for messages.
   *
   * @param due the number of the batch that the consumer waits for
   */
  public long number(long due) {
    return batch;
  }

  /** Returns whether filling may begin. The caller holds the monitor. */
  public boolean isReady() {
    return true;
  }

  /** Notes that filling begins. The caller holds the monitor. */
  public void begin() {}

  /** Notes that the batch is done, whether it was filled or not. The caller holds the monitor. */
  public void end() {
    done = true;
  }

  /** Returns whether the batch is done. The caller holds the monitor. */
  public final boolean isDone() {
    return done;
  }

  /** Notes that the result is unwanted. The caller holds the monitor. */
  public void cancel() {
    cancelled = true;
  }

  public final boolean isCancelled() {
    return cancelled;
  }

  /** Notes a failure that no sample has thrown. */
  public final void fail(Throwable failure) {
    error = failure;
  }

  /** Returns the failure that no sample has thrown; null if there is none. */
  public final @Nullable Throwable error() {
    return error;
  }

  /**
   * Returns whether samples left the thread interrupted; for a consumer that fills its own batches.
   */
  public final boolean wasInterrupted() {
    return wasInterrupted;
  }

  /** Returns the memory that holds the samples; null before the batch is filled. */
  public final @Nullable Slab slab() {
    return slab;
  }

  /** Returns the number of samples that were written. */
  public final int rows() {
    return rows;
  }

  /** Returns the length of the batch in each column of variable length. */
  public final int[] lengths() {
    return lengths;
  }

  /** For each row, its position in the index list, if samples were skipped; otherwise null. */
  public final int @Nullable [] elements() {
    return elements == null ? null : Arrays.copyOf(elements, rows);
  }

  /** Returns the samples that were left out; null if none was. */
  public final @Nullable SkippedSamples skipped() {
    return skipped;
  }

  /** Notes that a sample is left out. */
  final void skip(long index, String reason) {
    SkippedSamples samples = skipped == null ? new SkippedSamples() : skipped;
    skipped = samples;
    samples.add(index, epoch, reason);
  }

  /** Returns the tensors of a transform; null if the tensors are views of the slab. */
  public final Tensor @Nullable [] made() {
    return made;
  }

  /** Returns the time that filling took. */
  public final long nanos() {
    return nanos;
  }

  /** Reports the time that filling took, and the sample or batch that took longest. */
  void report(LoaderMeter meter) {
    meter.worked(nanos, epoch, slowestIndex, slowestNanos);
  }

  /** Notes which worker fills the batch. */
  public final void assignTo(int number) {
    worker = number;
  }

  /** Returns the number of the worker that fills the batch. */
  public final int worker() {
    return worker;
  }

  /** Fills a slab that no other thread writes to, and reports the time. */
  public final void fill(Slab free, Worker by) {
    slab = free;
    showsSamples = LoaderEvents.showsSamples();
    LoaderEvents.Gather event = LoaderEvents.beginGather();
    long begun = Recorder.begin();
    long start = System.nanoTime();
    try {
      fillRows(free, by);
    } finally {
      long now = System.nanoTime();
      endSample(now);
      nanos = now - start;
      report(by.options().meter());
      Recorder.end(begun, Kind.GATHER, batch, 0, epoch);
      if (event != null) {
        event.finish(epoch, batch, rows, nanos);
      }
    }
  }

  /**
   * Notes which sample begins. The clock is read once per sample, which also ends the previous one.
   */
  final void beginSample(long index) {
    long now = System.nanoTime();
    endSample(now);
    since.lazySet(now);
    sample.lazySet(index);
    if (showsSamples) {
      shown = LoaderEvents.beginSample();
    }
  }

  private void endSample(long now) {
    long index = sample.getPlain();
    long took = now - since.getPlain();
    if (index >= 0 && took > slowestNanos) {
      slowestNanos = took;
      slowestIndex = index;
    }
    LoaderEvents.Sample event = shown;
    if (event != null) {
      event.finish(epoch, batch, index);
      shown = null;
    }
  }

  /** Ends the batch once its samples are written. */
  final void finish(Slab filled, Worker by) {
    if (!cancelled) {
      lengths = by.writer().endBatch(filled, rows);
      transform(filled, by.options());
    }
  }

  /** Computes the tensors of the batch if there is a transform; its failure is recorded. */
  final void transform(Slab filled, TaskOptions options) {
    if (!options.layout().isTransformed()) {
      return;
    }
    long seed = options.seed();
    SampleRandom random = new SampleRandom();
    random.begin(~seed, epoch, firstSample()); // differs from the numbers of the sample
    try {
      made = options.layout().transformed(filled, rows, lengths, random, seed, epoch, samples());
    } catch (Throwable e) {
      error = e;
    }
  }

  /** Clears an interrupt left by a sample, so that the next one does not see it. */
  final void endInterrupt(@Nullable Throwable thrown) {
    wasInterrupted |= Thread.interrupted() || thrown instanceof InterruptedException;
  }

  /** Frees the tensors of a transform; returns the slab, which the task no longer uses. */
  public final @Nullable Slab drop() {
    if (made != null) {
      for (Tensor tensor : made) {
        tensor.close();
      }
      made = null;
    }
    Slab unused = slab;
    slab = null;
    return unused;
  }

  /** Returns the activity of the thread that fills this batch. */
  public final String describe(long now) {
    long index = sample.get();
    return index < 0
        ? "preparing batch %d".formatted(batch)
        : "reading sample %d of batch %d for %.1f s"
            .formatted(index, batch, (now - since.get()) / 1e9);
  }
}
