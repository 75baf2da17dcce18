// SPDX-License-Identifier: Apache-2.0
/**
 * torchfeed's own orders: computed instead of listed where possible, and composable.
 *
 * <p>{@link io.torchfeed.sampler.order.ShuffledSampler} computes a shuffled order of any length in
 * constant memory; {@link io.torchfeed.sampler.order.WeightedSampler}, {@link
 * io.torchfeed.sampler.order.WeightedShuffleSampler} and {@link
 * io.torchfeed.sampler.order.ClassBalancedSampler} draw by weight and by class; {@link
 * io.torchfeed.sampler.order.ShardShuffleSampler} shuffles data stored in shards. {@link
 * io.torchfeed.sampler.order.ConcatenatedSampler}, {@link io.torchfeed.sampler.order.MixedSampler},
 * {@link io.torchfeed.sampler.order.RepeatedSampler} and {@link
 * io.torchfeed.sampler.order.ListSampler} combine plans.
 *
 * <p>{@link io.torchfeed.sampler.order.StridedSampler} and {@link
 * io.torchfeed.sampler.order.BlockedSampler} divide any plan among ranks, {@link
 * io.torchfeed.sampler.order.ShardedSampler} data stored in shards, {@link
 * io.torchfeed.sampler.order.DistributedBatchSampler} whole batches; {@link
 * io.torchfeed.sampler.order.FixedSizeBatchSampler} forms batches of any plan. {@link
 * io.torchfeed.sampler.order.ComputedSampler} is the base of samplers of your own, and {@link
 * io.torchfeed.sampler.order.DividedSampler} of divisions of your own.
 */
@NullMarked
package io.torchfeed.sampler.order;

import org.jspecify.annotations.NullMarked;
