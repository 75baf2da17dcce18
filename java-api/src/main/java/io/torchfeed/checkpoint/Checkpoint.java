// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import java.nio.file.Path;
import java.util.List;

/** A checkpoint that has been loaded. */
public final class Checkpoint {
  private final Path folder;
  private final long step;
  private final int ranks;
  private final List<CheckpointException> skipped;

  Checkpoint(Path folder, long step, int ranks, List<CheckpointException> skipped) {
    this.folder = folder;
    this.step = step;
    this.ranks = ranks;
    this.skipped = List.copyOf(skipped);
  }

  /**
   * Returns the folder of the checkpoint.
   *
   * @return the folder with its files
   */
  public Path folder() {
    return folder;
  }

  /**
   * Returns the step after which it was taken.
   *
   * @return the number given to {@link Checkpoints#save}
   */
  public long step() {
    return step;
  }

  /**
   * Returns the number of ranks that have written it together.
   *
   * @return 1 if it was saved by one process
   */
  public int ranks() {
    return ranks;
  }

  /**
   * Returns the faults of newer checkpoints, in place of which this one was loaded; worth a
   * warning.
   *
   * @return a failure for each, newest first; usually empty
   */
  public List<CheckpointException> skipped() {
    return skipped;
  }
}
