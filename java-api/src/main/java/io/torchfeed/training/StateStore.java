// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.TrainingState;

/**
 * Where the state of a {@link TrainingLoop} is saved; to be implemented by sources of {@link
 * Ranks}. All ranks call each method together, in the thread of the loop.
 */
public interface StateStore {
  /**
   * Returns a store that saves nothing.
   *
   * @return the store
   */
  static StateStore none() {
    return new StateStore() {
      @Override
      public boolean isEmpty() {
        return true;
      }

      @Override
      public void load(TrainingState state) {}

      @Override
      public void save(long step, TrainingState state) {}
    };
  }

  /**
   * Returns whether this store never has a state.
   *
   * @return by default, false
   */
  default boolean isEmpty() {
    return false;
  }

  /**
   * Loads the last state, if there is one.
   *
   * @param state receives it
   */
  void load(TrainingState state);

  /**
   * Notes that the current ranks hold a state, and train from there on.
   *
   * @param progress of the training
   * @param state of this rank
   */
  default void begin(Progress progress, TrainingState state) {
    requireNonNull(progress, "progress");
    requireNonNull(state, "state");
  }

  /**
   * Saves a state; may return before that is done.
   *
   * @param step the steps completed, the same on all ranks
   * @param state of this rank
   */
  void save(long step, TrainingState state);

  /**
   * Saves a state that would be lost with this rank, which has left as it was asked to.
   *
   * @param step the steps completed
   * @param state of this rank
   */
  default void saveAsLast(long step, TrainingState state) {
    requireNonNull(state, "state");
  }

  /** Waits until everything is saved. */
  default void await() {}
}
