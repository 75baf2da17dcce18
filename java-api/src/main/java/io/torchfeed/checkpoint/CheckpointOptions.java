// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

/**
 * The options of {@link Checkpoints}.
 *
 * <p>Immutable: each {@code with} method returns new options.
 */
public final class CheckpointOptions {
  private static final CheckpointOptions DEFAULTS = new CheckpointOptions(3, 1, false);

  private final int kept;
  private final int keptBest;
  private final boolean isCopiedInBackground;

  private CheckpointOptions(int kept, int keptBest, boolean isCopiedInBackground) {
    this.kept = kept;
    this.keptBest = keptBest;
    this.isCopiedInBackground = isCopiedInBackground;
  }

  /**
   * Returns the default options.
   *
   * @return keep the 3 newest checkpoints, and the best one, if they have a metric; a save in the
   *     background copies the state before it returns
   */
  public static CheckpointOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Returns these options with a different number of checkpoints to keep: each save deletes older
   * ones, except the best.
   *
   * @param count at least 1; 2 or more allow for a damaged one
   * @return the options
   * @throws IllegalArgumentException if it is below 1
   */
  public CheckpointOptions withKept(int count) {
    if (count < 1) {
      throw new IllegalArgumentException("at least 1 checkpoint must be kept, got " + count);
    }
    return new CheckpointOptions(count, keptBest, isCopiedInBackground);
  }

  /**
   * Returns these options with a different number of best checkpoints to keep: a save does not
   * delete them, however old they are. The metric comes from {@link TrainingState.Builder#metric};
   * of equal ones, the older is the better. Without a metric, this has no effect.
   *
   * @param count at least 0
   * @return the options
   * @throws IllegalArgumentException if it is negative
   */
  public CheckpointOptions withKeptBest(int count) {
    if (count < 0) {
      throw new IllegalArgumentException(
          "the best checkpoints to keep must be at least 0, got " + count);
    }
    return new CheckpointOptions(kept, count, isCopiedInBackground);
  }

  /**
   * Returns these options with another moment of the copy: {@link Checkpoints#saveInBackground}
   * leaves parameters and the state of an optimizer of the presets on the CPU to its thread, which
   * copies them while the next step computes its loss and its gradients. Buffers and all other
   * parts are copied at once. A {@code TrainingLoop} waits for the copy before each update; a loop
   * of your own calls {@link Checkpoints#awaitCopied} before {@code optimizer.step()} and anything
   * else that changes parameters or the optimizer's state.
   *
   * <p>Not for losses that change parameters, as where two nets are trained against each other. A
   * change that libtorch counts fails the save; one of {@code parameter.data()} is not counted, and
   * a checkpoint has some of it.
   *
   * @param isInBackground whether the copy continues after the call
   * @return the options
   */
  public CheckpointOptions withCopyInBackground(boolean isInBackground) {
    return new CheckpointOptions(kept, keptBest, isInBackground);
  }

  boolean isCopiedInBackground() {
    return isCopiedInBackground;
  }

  int kept() {
    return kept;
  }

  int keptBest() {
    return keptBest;
  }
}
