// SPDX-License-Identifier: Apache-2.0
/**
 * Matrix factorization of ratings, and MNIST from Parquet files, on the executors of Apache Spark.
 *
 * <p>Start reading at {@code Ratings} (options), then {@code RatingsTask} (the work of one rank)
 * and {@code FactorNet} (the model); or at {@code Mnist} and {@code MnistTask}. {@code Rates}
 * measures how fast rows are stored and loaded.
 */
@NullMarked
package io.torchfeed.examples.spark;

import org.jspecify.annotations.NullMarked;
