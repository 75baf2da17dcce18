// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training.steps;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Batches in the order of a sampler: all ranks have equally many, and one position, which costs
 * nothing until it is asked for, holds for all.
 */
public final class IndexBatches implements EpochBatches {
  private final Batches batches;
  private final LongSupplier count;
  private final int perStep;
  private long total = -1; // a batch sampler may have to plan the epoch for it
  private int left;
  private long position;

  IndexBatches(Batches batches, LongSupplier count, int perStep) {
    this.batches = batches;
    this.count = count;
    this.perStep = perStep;
    this.position = batches.position();
    batches.stateAt(position); // refuses batches that are not delivered in order
  }

  @Override
  public long epoch() {
    return batches.epoch();
  }

  @Override
  public boolean nextStep() {
    left = perStep;
    return batches.hasNext();
  }

  @Override
  public boolean hasNext() {
    return left > 0 && batches.hasNext();
  }

  @Override
  public Batch next() {
    left--;
    return batches.next();
  }

  @Override
  public boolean isUneven() {
    return false;
  }

  @Override
  public boolean isLast() {
    return !batches.hasNext();
  }

  private long total() {
    if (total < 0) {
      total = count.getAsLong();
    }
    return total;
  }

  @Override
  public long steps() {
    return (total() + perStep - 1) / perStep;
  }

  @Override
  public long stepsLeft() {
    return Math.max(0, (total() - batches.position() + perStep - 1) / perStep);
  }

  @Override
  public void commit() {
    position = batches.position();
  }

  @Override
  public List<LoaderState> committed() {
    return List.of(batches.stateAt(position));
  }

  @Override
  public List<LoaderState> end() {
    return List.of(batches.state());
  }

  @Override
  public void close() {
    batches.close();
  }
}
