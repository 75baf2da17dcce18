// SPDX-License-Identifier: Apache-2.0
/**
 * Networks as stages of pipelines of Spark ML: a {@link
 * io.torchfeed.spark.pipeline.TorchfeedEstimator} trains one, and a {@link
 * io.torchfeed.spark.pipeline.TorchfeedModel} applies it.
 */
@NullMarked
package io.torchfeed.spark.pipeline;

import org.jspecify.annotations.NullMarked;
