// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import io.torchfeed.training.Ranks;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The place of a rank in a training on Spark. Borrowed: all that it returns is closed for the rank
 * at its end. Thread-safe.
 */
public final class RankContext {
  private final ProcessGroup group;
  private final RankLink link;
  private final int attempt;
  private final String device;
  private final @Nullable RankCheckpoints checkpoints;

  RankContext(
      ProcessGroup group,
      RankLink link,
      int attempt,
      String device,
      @Nullable RankCheckpoints checkpoints) {
    this.group = group;
    this.link = link;
    this.attempt = attempt;
    this.device = device;
    this.checkpoints = checkpoints;
  }

  /**
   * Returns the group of all ranks.
   *
   * @return the group
   */
  public ProcessGroup group() {
    return group;
  }

  /**
   * Returns the rank.
   *
   * @return the number of the partition
   */
  public int rank() {
    return group.rank();
  }

  /**
   * Returns the rank and the number of ranks. The rows of a rank are its part already: samplers
   * over them take no part.
   *
   * @return the part
   */
  public Part part() {
    return group.part();
  }

  /**
   * Returns the ranks for a {@link io.torchfeed.training.TrainingLoop}, where {@link RankLoop} does
   * not fit: for example to accumulate gradients, or in mixed precision. It saves its state in the
   * checkpoints of the job, if there are any, at the end of each epoch and by {@code
   * checkpointEvery}.
   *
   * @return the ranks, each of which has data of its own
   */
  public Ranks ranks() {
    return new BarrierRanks(this);
  }

  /**
   * Returns how often Spark has repeated the stage.
   *
   * @return 0 in the first attempt
   */
  public int attempt() {
    return attempt;
  }

  /**
   * Returns the device that Spark has assigned to the task, by {@code spark.task.resource.gpu}.
   *
   * @return {@code cuda:} and its address, or {@code cpu} if the task has none
   */
  public String device() {
    return device;
  }

  /**
   * Returns the checkpoints of the job.
   *
   * @return the checkpoints
   * @throws IllegalStateException if the job has none
   */
  public RankCheckpoints checkpoints() {
    if (checkpoints == null) {
      throw new IllegalStateException(
          "the job has no checkpoints; name a path by checkpoints(path)");
    }
    return checkpoints;
  }

  /**
   * Returns whether the job has checkpoints.
   *
   * @return whether {@link #checkpoints} returns them
   */
  public boolean hasCheckpoints() {
    return checkpoints != null;
  }

  /**
   * Sends figures to the driver, which passes them to the consumer of {@link
   * SparkRanks#onProgress}.
   *
   * @param epoch the epoch
   * @param metrics figures by name; a name takes fewer than 2^16 bytes
   * @throws IllegalArgumentException if a name is longer
   * @throws SparkRanksException if the driver cannot be reached
   */
  public void report(long epoch, Map<String, Double> metrics) {
    link.progress(epoch, Map.copyOf(requireNonNull(metrics, "metrics")));
  }
}
