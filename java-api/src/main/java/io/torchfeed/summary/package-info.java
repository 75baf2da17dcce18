// SPDX-License-Identifier: Apache-2.0
/**
 * Scalars, histograms and pictures of a run, for TensorBoard and for tables.
 *
 * <p>A {@link io.torchfeed.summary.SummaryWriter} writes event files as PyTorch's class of that
 * name does, and the scalars as CSV beside them.
 */
@NullMarked
package io.torchfeed.summary;

import org.jspecify.annotations.NullMarked;
