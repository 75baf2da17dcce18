// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.Slab;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A batch that Java code fills. Written by the thread that fills it until {@code done}, which the
 * lock of the feed publishes.
 */
final class FillTask {
  final long epoch;
  final long batch;
  final long[] indices;
  volatile boolean cancelled;

  /** The sample that is being made, and since when; read by whoever waits too long. */
  final AtomicLong sample = new AtomicLong(-1);

  final AtomicLong since = new AtomicLong();

  @Nullable Slab slab;
  int rows;
  int @Nullable [] elements; // of the index list, where samples were skipped
  @Nullable SampleException failure;
  @Nullable Throwable error; // not of a sample
  boolean done;

  FillTask(long epoch, long batch, long[] indices) {
    this.epoch = epoch;
    this.batch = batch;
    this.indices = indices;
  }
}
