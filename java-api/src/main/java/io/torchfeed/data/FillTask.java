// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.Slab;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A batch that Java code fills; of a list of indices, or of a stream. Written by the thread that
 * fills it until {@code done}, which the lock of the feed publishes.
 */
class FillTask {
  final long epoch;
  volatile long batch; // changed by the consumer alone
  private final long[] indices;
  private final int size;
  volatile boolean cancelled;

  /** The sample that is being made, and since when; read by whoever waits too long. */
  final AtomicLong sample = new AtomicLong(-1);

  final AtomicLong since = new AtomicLong();

  @Nullable Slab slab;
  int rows;
  int[] lengths = {}; // of the batch, in its columns of variable length
  int @Nullable [] elements; // of the index list, where samples were skipped
  Tensor @Nullable [] made; // by a transform; else the tensors are views of the slab
  @Nullable SampleException failure;
  @Nullable Throwable error; // not of a sample
  boolean wasInterrupted; // what its samples left of interrupts
  boolean done;
  private long slowestIndex;
  private long slowestNanos = -1;
  private boolean showsSamples;
  private LoaderEvents.@Nullable Sample shown;

  FillTask(long epoch, long batch, long[] indices, int size) {
    this.epoch = epoch;
    this.batch = batch;
    this.indices = indices;
    this.size = size;
  }

  /** Whether it may be begun; asked by the holder of the feed's lock. */
  boolean isReady() {
    return true;
  }

  /** A worker begins or ends it; told by the holder of the feed's lock. */
  void setRunning(boolean running) {}

  /** Makes the samples in a slab that nobody else writes, and says what it took. */
  final void fill(Slab free, JavaFeedOptions options, SampleWriter writer) {
    showsSamples = LoaderEvents.showsSamples();
    LoaderEvents.Gather event = LoaderEvents.beginGather();
    long start = System.nanoTime();
    try {
      fillRows(free, options, writer);
    } finally {
      long now = System.nanoTime();
      endSample(now);
      options.meter().worked(now - start, epoch, slowestIndex, slowestNanos);
      if (event != null) {
        event.tell(epoch, batch, rows, now - start);
      }
    }
  }

  /** Says what is being made. One reading of the clock a sample: it ends the one before. */
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
    long nanos = now - since.getPlain();
    if (index >= 0 && nanos > slowestNanos) {
      slowestNanos = nanos;
      slowestIndex = index;
    }
    LoaderEvents.Sample event = shown;
    if (event != null) {
      event.tell(epoch, batch, index);
      shown = null;
    }
  }

  /** Makes the samples. */
  void fillRows(Slab free, JavaFeedOptions options, SampleWriter writer) {
    slab = free;
    writer.beginBatch(free);
    for (int element = 0; element < size && !cancelled; element++) {
      Throwable thrown = make(element, free, options, writer);
      if (thrown == null) {
        if (elements != null) {
          elements[rows] = element;
        }
        rows++;
      } else if (cancelled) {
        return;
      } else if (options.onFailure().skip()) {
        if (elements == null) {
          elements = new int[size];
          Arrays.setAll(elements, i -> i);
        }
      } else {
        failure = new SampleException(indices[element], epoch, batch, thrown);
        return;
      }
    }
    end(free, options, writer);
  }

  /** The samples are made: ends the batch. */
  final void end(Slab filled, JavaFeedOptions options, SampleWriter writer) {
    if (cancelled) {
      return;
    }
    lengths = writer.endBatch(filled, rows);
    if (!options.layout().isTransformed()) {
      return;
    }
    SampleRandom random = new SampleRandom();
    random.begin(~options.seed(), epoch, firstSample()); // other numbers than those of the sample
    try {
      made = options.layout().transformed(filled, rows, lengths, random);
    } catch (Throwable e) {
      error = e;
    }
  }

  /** What tells the batch from others of its epoch. */
  long firstSample() {
    return indices[0];
  }

  /** Lets go of what a transform has made. */
  final void dropMade() {
    if (made != null) {
      for (Tensor tensor : made) {
        tensor.close();
      }
      made = null;
    }
  }

  /** Makes a sample; gives what it threw in its last attempt. */
  private @Nullable Throwable make(
      int element, Slab into, JavaFeedOptions options, SampleWriter writer) {
    long index = indices[element];
    Throwable last = null;
    for (int attempt = 0; attempt <= options.onFailure().retries() && !cancelled; attempt++) {
      beginSample(index);
      try {
        writer.begin(into, rows, options.seed(), epoch, index);
        requireNonNull(options.dataset()).read(index, writer);
        writer.end();
        return null;
      } catch (Throwable e) {
        last = e;
        wasInterrupted |= e instanceof InterruptedException;
      } finally {
        writer.abandon();
      }
      wasInterrupted |= Thread.interrupted();
    }
    return last;
  }
}
