// SPDX-License-Identifier: Apache-2.0
/**
 * Which samples a rank sees, and in what order.
 *
 * <p>Where to begin: {@link io.torchfeed.sampler.ShuffledSampler}, unless another program's order
 * has to be met.
 *
 * <p>A {@link io.torchfeed.sampler.Sampler} is an immutable plan; {@link
 * io.torchfeed.sampler.Sampler#epoch epoch(e)} opens an independent {@link
 * io.torchfeed.sampler.Cursor} on one epoch, which delivers dataset indices in bulk. The plans that
 * are named as the C++ classes of libtorch 2.10.0 ({@link io.torchfeed.sampler.SequentialSampler},
 * {@link io.torchfeed.sampler.RandomSampler}, {@link
 * io.torchfeed.sampler.DistributedSequentialSampler}, {@link
 * io.torchfeed.sampler.DistributedRandomSampler}) run these, so indices and batch boundaries equal
 * theirs, bit for bit:
 *
 * <pre>{@code
 * Sampler sampler = new DistributedRandomSampler(10, 3, 0);
 * try (Cursor cursor = sampler.epoch(0)) {
 *   long[] indices = new long[4];
 *   int read = cursor.next(indices, 0, 4); // 4: the indices 0, 2, 1, 5
 * }
 * }</pre>
 *
 * <p>Those of PyTorch's Python package are computed here, in pure Java, from its random numbers:
 * {@link io.torchfeed.sampler.PythonDistributedSampler}, {@link
 * io.torchfeed.sampler.PythonRandomSampler}, {@link io.torchfeed.sampler.SubsetRandomSampler},
 * {@link io.torchfeed.sampler.WeightedRandomSampler}, {@link io.torchfeed.sampler.FixedBatches}
 * (its {@code BatchSampler}) and {@link io.torchfeed.sampler.RandomSplit}.
 *
 * <p>Those of Bagua's load balancing loader are {@link
 * io.torchfeed.sampler.BaguaLoadBalancingSampler}, with its orders bit for bit, and {@link
 * io.torchfeed.sampler.BaguaLoadBalancingBatchSampler}, with the defects of its batches corrected.
 *
 * <p>torchfeed's own: {@link io.torchfeed.sampler.ShuffledSampler} computes its order instead of
 * holding a list; {@link io.torchfeed.sampler.WeightedSampler} and {@link
 * io.torchfeed.sampler.ClassCyclingSampler} draw by weight and by class; {@link
 * io.torchfeed.sampler.ConcatenatedSampler}, {@link io.torchfeed.sampler.MixedSampler}, {@link
 * io.torchfeed.sampler.RepeatedSampler} and {@link io.torchfeed.sampler.ListSampler} combine plans;
 * {@link io.torchfeed.sampler.GroupSplit} and {@link io.torchfeed.sampler.StratifiedSplit} split a
 * dataset. {@link io.torchfeed.sampler.LoadBalancingDistributedSampler} and {@link
 * io.torchfeed.sampler.TokenBudgetBatchSampler} give the ranks of a step equal work: {@link
 * io.torchfeed.sampler.Costs} says what samples cost, {@link io.torchfeed.sampler.CostEstimator}
 * learns it, and {@link io.torchfeed.sampler.BalanceReport} shows how equal the work is. A {@link
 * io.torchfeed.sampler.DistributedSampler} is one rank's part: {@link
 * io.torchfeed.sampler.StridedSampler} and {@link io.torchfeed.sampler.BlockedSampler} divide any
 * plan, {@link io.torchfeed.sampler.ShardedSampler} data that lie in shards. A {@link
 * io.torchfeed.sampler.BatchSampler} also says where batches end.
 *
 * <p>{@link io.torchfeed.sampler.SamplerState} is what a checkpoint keeps of a plan, {@link
 * io.torchfeed.sampler.PlanCheck} compares the ranks' plans before an epoch, and {@link
 * io.torchfeed.sampler.Cursor#isPadding} tells which samples only fill up.
 *
 * <p>Where the C++ classes crash or leave the dataset, these do not: arguments are checked before
 * C++ sees them, and padding always lies inside the dataset.
 *
 * <p>This package imports, of torchfeed, only the bindings; it knows no tensor, no dataset and no
 * loader.
 */
@NullMarked
package io.torchfeed.sampler;

import org.jspecify.annotations.NullMarked;
