// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoint;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.internal.Checks;
import java.util.List;
import java.util.Optional;

/**
 * Where the state of a {@link TrainingLoop} is saved; to be implemented by sources of {@link
 * Ranks}. All ranks call each method together, in the thread of the loop.
 */
public interface StateStore {
  /**
   * A state that was loaded.
   *
   * @param name its name in messages, for example the folder of a checkpoint
   * @param skipped why newer ones were not loaded, newest first
   */
  record Loaded(String name, List<String> skipped) {
    /**
     * Creates the description of a state.
     *
     * @param name its name in messages
     * @param skipped why newer ones were not loaded
     * @throws NullPointerException if a value is null
     */
    public Loaded {
      requireNonNull(name, "name");
      skipped = Checks.copyOf("skipped", skipped);
    }

    /**
     * Describes a checkpoint.
     *
     * @param checkpoint that was loaded
     * @return its folder, and the faults of newer ones
     */
    public static Loaded of(Checkpoint checkpoint) {
      return new Loaded(
          requireNonNull(checkpoint, "checkpoint").folder().toString(),
          checkpoint.skipped().stream().map(each -> String.valueOf(each.getMessage())).toList());
    }
  }

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
      public Optional<Loaded> load(TrainingState state) {
        return Optional.empty();
      }

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
   * @return the state that this rank has loaded; empty if there is none, or another rank has it
   */
  Optional<Loaded> load(TrainingState state);

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
   * Saves a state; may return before that is done, and before the parameters of modules and the
   * states of optimizers are copied: then {@link #awaitCopied} waits for that.
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

  /** Waits until parameters and optimizers may change after {@link #save}; by default at once. */
  default void awaitCopied() {}

  /** Waits until everything is saved. */
  default void await() {}
}
