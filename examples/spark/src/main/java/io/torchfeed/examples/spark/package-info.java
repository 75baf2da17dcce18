// SPDX-License-Identifier: Apache-2.0
/**
 * Matrix factorization of ratings on the executors of Apache Spark.
 *
 * <p>Start reading at {@code Ratings} (options), then {@code RatingsTask} (the work of one rank)
 * and {@code FactorNet} (the model).
 */
@NullMarked
package io.torchfeed.examples.spark;

import org.jspecify.annotations.NullMarked;
