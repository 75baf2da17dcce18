// SPDX-License-Identifier: Apache-2.0
/**
 * Training on the executors of Apache Spark, over the rows of a DataFrame.
 *
 * <p>{@link io.torchfeed.spark.job.SparkRanks} starts one rank for each partition of a DataFrame,
 * as the tasks of a barrier stage. A rank gets its {@link io.torchfeed.spark.RankContext}, with the
 * process group, and its {@link io.torchfeed.spark.RankRows}, which a {@code DataLoader} reads as
 * often as there are epochs. {@link io.torchfeed.spark.RankLoop} is the loop that most ranks need:
 * it takes partitions of different sizes, saves checkpoints, and continues from the last one when
 * Spark repeats the stage after a loss.
 *
 * <p>{@link io.torchfeed.spark.HadoopSource} reads files of HDFS and other Hadoop file systems,
 * with or without a job.
 *
 * <p>Spark itself is provided by the cluster.
 */
@NullMarked
package io.torchfeed.spark;

import org.jspecify.annotations.NullMarked;
