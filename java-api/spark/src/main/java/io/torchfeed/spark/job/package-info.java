// SPDX-License-Identifier: Apache-2.0
/**
 * Jobs on a Spark cluster: {@link io.torchfeed.spark.job.SparkRanks} starts ranks over the
 * partitions of a DataFrame, or applies a trained model to its rows.
 */
@NullMarked
package io.torchfeed.spark.job;

import org.jspecify.annotations.NullMarked;
