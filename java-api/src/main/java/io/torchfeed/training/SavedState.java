// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.training.steps.EpochBatches;

/** The state of a loop, and when it is saved. */
final class SavedState {
  private static final long NONE = -1;

  private final StateStore store;
  private final long everySteps;
  private final Progress progress;
  private final TrainingState state;
  private long last = NONE;

  SavedState(StateStore store, long everySteps, Progress progress, TrainingState state) {
    this.store = store;
    this.everySteps = everySteps;
    this.progress = progress;
    this.state = state;
  }

  TrainingState state() {
    return state;
  }

  boolean isEmpty() {
    return store.isEmpty();
  }

  void load() {
    store.load(state);
  }

  /**
   * Notes that the ranks hold the state.
   *
   * @param isSaved whether it is saved, if there is one: else other ranks than before may save it
   */
  void begin(boolean isSaved) {
    last = isSaved ? progress.step() : NONE;
    store.begin(progress, state);
  }

  /** Saves the state after each {@code everySteps} steps, except at the end of an epoch. */
  void saveAfterStep(EpochBatches batches, ReplicatedModel model) {
    if (store.isEmpty() || progress.step() % everySteps != 0 || batches.isLast()) {
      return;
    }
    model.average();
    store.save(progress.step(), state);
  }

  void saveAfterEpoch() {
    last = progress.step();
    store.save(last, state);
  }

  /** Saves the state once all epochs are complete, unless the end of the last one did. */
  void saveAtEnd() {
    if (last != progress.step()) {
      saveAfterEpoch();
    }
    store.await();
  }

  void saveAsLast() {
    store.saveAsLast(progress.step(), state);
  }

  /** Waits until everything is saved: next, another rank may be the one that saves. */
  void await() {
    store.await();
  }
}
