// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.Slab;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A batch that Java code fills. Written by the thread that fills it until {@code done}, which the
 * lock of the feed publishes.
 */
final class FillTask {
  final long epoch;
  final long batch;
  private final long[] indices;
  private final int size;
  volatile boolean cancelled;

  /** The sample that is being made, and since when; read by whoever waits too long. */
  final AtomicLong sample = new AtomicLong(-1);

  final AtomicLong since = new AtomicLong();

  @Nullable Slab slab;
  int rows;
  int @Nullable [] elements; // of the index list, where samples were skipped
  @Nullable SampleException failure;
  @Nullable Throwable error; // not of a sample
  boolean wasInterrupted; // what its samples left of interrupts
  boolean done;

  FillTask(long epoch, long batch, long[] indices, int size) {
    this.epoch = epoch;
    this.batch = batch;
    this.indices = indices;
    this.size = size;
  }

  /** Makes the samples in a slab that nobody else writes. */
  void fill(Slab free, JavaFeedOptions options, SampleWriter writer) {
    slab = free;
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
  }

  /** Makes a sample; gives what it threw in its last attempt. */
  private @Nullable Throwable make(
      int element, Slab into, JavaFeedOptions options, SampleWriter writer) {
    long index = indices[element];
    Throwable last = null;
    for (int attempt = 0; attempt <= options.onFailure().retries() && !cancelled; attempt++) {
      since.lazySet(System.nanoTime());
      sample.lazySet(index);
      try {
        writer.begin(into, rows, options.seed(), epoch, index);
        options.dataset().read(index, writer);
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
