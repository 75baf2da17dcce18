// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training.steps;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import java.util.List;

/** The batches of an epoch that a rank trains with, and the position of the ranks in the data. */
public interface EpochBatches extends AutoCloseable {
  /**
   * Returns the batches of a pass.
   *
   * @param loader of the pass
   * @param batches closed with the result
   * @param from the states with which the pass was opened; empty at the start of epoch 0
   * @param perStep the batches that a step has, but for the last ones of an epoch
   * @param peers the ranks, which call {@link #nextStep} together if the pass is over a stream
   */
  static EpochBatches of(
      DataLoader loader, Batches batches, List<LoaderState> from, int perStep, Peers peers) {
    return batches.state() instanceof LoaderState.StreamState
        ? new StreamBatches(batches, from, perStep, peers)
        : new IndexBatches(batches, () -> loader.batches(batches.epoch()), perStep);
  }

  /** Returns the number of the epoch. */
  long epoch();

  /** Goes to the next step. Returns false at the end of the epoch, on all ranks. */
  boolean nextStep();

  /**
   * Returns whether this rank has another batch for this step. If there is none, the one before
   * ends; over a stream, there may be none at all, while others have some.
   */
  boolean hasNext();

  /** Returns the next batch of this step; there must be one. */
  Batch next();

  /** Returns whether another rank has a batch for this step and one has none, on all ranks. */
  boolean isUneven();

  /** Returns whether no step follows, if that is known without the other ranks. */
  boolean isLast();

  /** Returns the steps of the whole epoch, or -1 over a stream, which does not know. */
  long steps();

  /** Returns the steps until the end of the epoch, or -1 over a stream. */
  long stepsLeft();

  /** Counts all batches so far as used by a completed step. */
  void commit();

  /** Returns the position after the batches that count; empty at the start of epoch 0. */
  List<LoaderState> committed();

  /** Returns the position after the end of the epoch. */
  List<LoaderState> end();

  @Override
  void close();
}
