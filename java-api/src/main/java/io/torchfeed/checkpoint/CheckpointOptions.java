// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

/**
 * The options of {@link Checkpoints}.
 *
 * <p>Immutable: each {@code with} method returns new options.
 */
public final class CheckpointOptions {
  private static final CheckpointOptions DEFAULTS = new CheckpointOptions(3);

  private final int kept;

  private CheckpointOptions(int kept) {
    this.kept = kept;
  }

  /**
   * Returns the default options.
   *
   * @return keep 3 checkpoints
   */
  public static CheckpointOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Returns these options with a different number of checkpoints to keep: each save deletes older
   * ones.
   *
   * @param count at least 1; 2 or more allow for a damaged one
   * @return the options
   * @throws IllegalArgumentException if it is below 1
   */
  public CheckpointOptions withKept(int count) {
    if (count < 1) {
      throw new IllegalArgumentException("at least 1 checkpoint must be kept, got " + count);
    }
    return new CheckpointOptions(count);
  }

  int kept() {
    return kept;
  }
}
