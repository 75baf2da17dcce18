// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training.steps;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import java.util.Arrays;
import java.util.List;

/**
 * Batches of data that each rank has for itself: their numbers may differ, and so do the positions.
 * The ranks tell each other their numbers once, when the pass is opened.
 */
public final class OwnBatches implements EpochBatches {
  private final IndexBatches batches;
  private final long fewest;
  private final long most;
  private long steps;

  /**
   * Opens the batches.
   *
   * @param batches closed with this object
   * @param left the batches that the pass delivers
   * @param perStep the batches that a step has, but for the last ones of an epoch
   * @param peers the ranks, which call this together
   * @throws IllegalStateException if no rank has a batch
   */
  public OwnBatches(Batches batches, long left, int perStep, Peers peers) {
    long total = batches.position() + left;
    this.batches = new IndexBatches(batches, () -> total, perStep);
    long[] mine = {(left + perStep - 1) / perStep, batches.position()};
    long[][] all = peers.numbers().gather(mine);
    fewest = Arrays.stream(all).mapToLong(each -> each[0]).min().orElseThrow();
    most = Arrays.stream(all).mapToLong(each -> each[0]).max().orElseThrow();
    if (most == 0 && Arrays.stream(all).allMatch(each -> each[1] == 0)) {
      throw new IllegalStateException("no rank has a batch, so there is nothing to train on");
    }
  }

  @Override
  public long epoch() {
    return batches.epoch();
  }

  @Override
  public boolean nextStep() {
    batches.nextStep();
    return steps++ < most;
  }

  @Override
  public boolean hasNext() {
    return batches.hasNext();
  }

  @Override
  public Batch next() {
    return batches.next();
  }

  @Override
  public boolean isUneven() {
    return steps > fewest;
  }

  @Override
  public boolean isLast() {
    return steps == most;
  }

  @Override
  public long steps() {
    return batches.steps();
  }

  @Override
  public long stepsLeft() {
    return most - steps;
  }

  @Override
  public void commit() {
    batches.commit();
  }

  @Override
  public List<LoaderState> committed() {
    return batches.committed();
  }

  @Override
  public List<LoaderState> end() {
    return batches.end();
  }

  @Override
  public void close() {
    batches.close();
  }
}
