// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import io.torchfeed.training.Ranks;
import java.util.Map;

/**
 * The place of a rank in a training on Spark. Borrowed: all that it returns is closed for the rank
 * at its end. Thread-safe.
 *
 * <p>Torchfeed implements it; a program may, too, to test its {@link RankTask} without Spark.
 */
public interface RankContext {
  /**
   * Returns the group of all ranks.
   *
   * @return the group
   */
  ProcessGroup group();

  /**
   * Returns the rank.
   *
   * @return the number of the partition
   */
  default int rank() {
    return group().rank();
  }

  /**
   * Returns the rank and the number of ranks. The rows of a rank are its part already: samplers
   * over them take no part.
   *
   * @return the part
   */
  default Part part() {
    return group().part();
  }

  /**
   * Returns the ranks for a {@link io.torchfeed.training.TrainingLoop}, where {@link RankLoop} does
   * not fit: for example to accumulate gradients, or in mixed precision. It saves its state in the
   * checkpoints of the job, if there are any, at the end of each epoch and by {@code
   * checkpointEvery}.
   *
   * @return the ranks, each of which has data of its own
   */
  Ranks ranks();

  /**
   * Returns how often Spark has repeated the stage.
   *
   * @return 0 in the first attempt
   */
  int attempt();

  /**
   * Returns the device that Spark has assigned to the task, by {@code spark.task.resource.gpu}.
   *
   * @return {@code cuda:} and its address, or {@code cpu} if the task has none
   */
  String device();

  /**
   * Returns the checkpoints of the job.
   *
   * @return the checkpoints
   * @throws IllegalStateException if the job has none
   */
  RankCheckpoints checkpoints();

  /**
   * Returns whether the job has checkpoints.
   *
   * @return whether {@link #checkpoints} returns them
   */
  boolean hasCheckpoints();

  /**
   * Sends figures to the driver, which passes them to the consumer of {@link
   * io.torchfeed.spark.job.SparkRanks#onProgress}.
   *
   * @param epoch the epoch
   * @param metrics figures by name; a name takes fewer than 2^16 bytes
   * @throws IllegalArgumentException if a name is longer
   * @throws SparkRanksException if the driver cannot be reached
   */
  void report(long epoch, Map<String, Double> metrics);
}
