// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

/**
 * The options of {@link Checkpoints}.
 *
 * <p>Immutable: each {@code with} method returns new options.
 */
public final class CheckpointOptions {
  private static final CheckpointOptions DEFAULTS = new CheckpointOptions(3, 1);

  private final int kept;
  private final int keptBest;

  private CheckpointOptions(int kept, int keptBest) {
    this.kept = kept;
    this.keptBest = keptBest;
  }

  /**
   * Returns the default options.
   *
   * @return keep the 3 newest checkpoints, and the best one, if they have a metric
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
    return new CheckpointOptions(count, keptBest);
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
    return new CheckpointOptions(kept, count);
  }

  int kept() {
    return kept;
  }

  int keptBest() {
    return keptBest;
  }
}
