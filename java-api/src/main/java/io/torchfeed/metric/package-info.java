// SPDX-License-Identifier: Apache-2.0
/**
 * Measures of a model over the samples of all ranks, each sample counted once.
 *
 * <p>A {@link io.torchfeed.metric.Metric} takes the tensors of a batch, on any device, and keeps
 * counts: whole numbers, and sums of doubles that are not rounded. A result is therefore the same,
 * bit for bit, for any order of the samples and any number of ranks. A {@link
 * io.torchfeed.metric.MetricCollection} merges all its metrics over the ranks by one collective,
 * and an {@link io.torchfeed.metric.Evaluation} runs a model over a dataset on all ranks, without
 * padding. Results are compared with scikit-learn and torchmetrics in the tests.
 *
 * <p>A metric without samples is NaN. An update that is refused changes nothing. Must not import
 * the training loop.
 */
@NullMarked
package io.torchfeed.metric;

import org.jspecify.annotations.NullMarked;
