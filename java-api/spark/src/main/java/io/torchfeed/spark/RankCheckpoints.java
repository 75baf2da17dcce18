// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import io.torchfeed.checkpoint.TrainingState;
import java.util.OptionalLong;

/**
 * The checkpoints of a training on Spark, in a folder of a Hadoop file system.
 *
 * <p>Each is a folder {@code step-000100.JOB.attempt-0}, which has a folder {@code shared} with the
 * state that is the same on all ranks, written by rank 0, and a folder for the state of each rank.
 * All of them have the files of {@link io.torchfeed.checkpoint.Checkpoints}. The file {@code
 * COMPLETE} is written last, with the digests of the ranks' rows; folders without it do not count.
 *
 * <p>All methods are collective: every rank calls them, with the same step. Not thread-safe.
 *
 * <p>Torchfeed implements it; a program may, too, to test its {@link RankTask} without Spark.
 */
public interface RankCheckpoints {
  /**
   * Saves a checkpoint; returns when the files of all ranks are written.
   *
   * @param step the number of the step that has been completed, in [0, 10<sup>18</sup>), the same
   *     on all ranks
   * @param shared the state that is the same on all ranks; rank 0 saves it
   * @param own the state of this rank, for example the position of its loader
   * @throws io.torchfeed.checkpoint.CheckpointException if a part cannot be saved
   * @throws SparkRanksException if the file system fails; the checkpoints before this one stay
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost
   */
  void save(long step, TrainingState shared, TrainingState own);

  /**
   * Loads the newest complete checkpoint, or if a file of it is damaged, the newest good one before
   * it.
   *
   * @param shared receives the state that is the same on all ranks
   * @param own receives the state of this rank
   * @return the step; empty if there is no checkpoint
   * @throws SparkRanksException if it was saved by another number of ranks, or this rank has other
   *     rows than then, or the file system fails
   * @throws io.torchfeed.checkpoint.CheckpointException if it is of other parts, or there are
   *     checkpoints but no good one
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost
   */
  OptionalLong load(TrainingState shared, TrainingState own);

  /**
   * Loads parts of the best complete checkpoint by its metric, {@link TrainingState#metric}; or if
   * a file of it is damaged, of the next best.
   *
   * @param parts receives them; some that all ranks share, usually the module
   * @return the step; empty if no checkpoint has a metric
   * @throws SparkRanksException if the file system fails
   * @throws io.torchfeed.checkpoint.CheckpointException if it lacks a part, or there are
   *     checkpoints with a metric but no good one
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost
   */
  OptionalLong loadBest(TrainingState parts);
}
