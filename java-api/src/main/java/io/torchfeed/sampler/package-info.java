// SPDX-License-Identifier: Apache-2.0
/**
 * Plans: which samples each rank receives in an epoch, their order, and how to resume it.
 *
 * <p>A {@link io.torchfeed.sampler.Plan} is immutable. {@link io.torchfeed.sampler.Sampler#epoch
 * epoch(e)} opens an independent {@link io.torchfeed.sampler.Cursor} on one epoch, which delivers
 * dataset indices in bulk; a {@link io.torchfeed.sampler.BatchSampler} also defines where batches
 * end. A plan may be one rank's part of an order that all ranks share.
 *
 * <pre>{@code
 * Sampler sampler = ShuffledSampler.of(10, Part.rank(0).of(3), 42);
 * try (Cursor cursor = sampler.epoch(0)) {
 *   long[] indices = new long[4];
 *   int read = cursor.next(indices, 0, 4);
 * }
 * }</pre>
 *
 * <p>{@link io.torchfeed.sampler.SamplerState} is a plan's state for a checkpoint, {@link
 * io.torchfeed.sampler.ResumableCursor} keeps it up to date, {@link
 * io.torchfeed.sampler.RankConsistency} compares the ranks' plans before an epoch, and {@link
 * io.torchfeed.sampler.Cursor#isPadding} flags padding.
 *
 * <p>The plans themselves:
 *
 * <ul>
 *   <li>{@link io.torchfeed.sampler.order}: torchfeed's own orders, which can be sought, combined
 *       and divided. Start with {@link io.torchfeed.sampler.order.ShuffledSampler}; write your own
 *       with {@link io.torchfeed.sampler.order.ComputedSampler}.
 *   <li>{@link io.torchfeed.sampler.torch}: the orders of libtorch's C++ samplers, bit for bit.
 *   <li>{@link io.torchfeed.sampler.python}: the orders of PyTorch's Python samplers, bit for bit.
 *   <li>{@link io.torchfeed.sampler.balance}: equal work for the ranks of a step.
 *   <li>{@link io.torchfeed.sampler.split}: splits of a dataset.
 * </ul>
 *
 * <p>This package and those below it import nothing else from torchfeed but helpers and, in {@code
 * torch}, the bindings; they know nothing of tensors, datasets or loaders.
 */
@NullMarked
package io.torchfeed.sampler;

import org.jspecify.annotations.NullMarked;
