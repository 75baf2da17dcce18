// SPDX-License-Identifier: Apache-2.0
/**
 * The orders of libtorch's C++ samplers, bit for bit.
 *
 * <p>The plans named after the C++ classes of libtorch 2.10.0 ({@link
 * io.torchfeed.sampler.torch.SequentialSampler}, {@link io.torchfeed.sampler.torch.RandomSampler},
 * {@link io.torchfeed.sampler.torch.DistributedSequentialSampler}, {@link
 * io.torchfeed.sampler.torch.DistributedRandomSampler}) run those classes, so indices and batch
 * boundaries equal theirs:
 *
 * <pre>{@code
 * Sampler sampler = DistributedRandomSampler.of(10, Part.rank(0).of(3));
 * try (Cursor cursor = sampler.epoch(0)) {
 *   long[] indices = new long[4];
 *   int read = cursor.next(indices, 0, 4); // 4: the indices 0, 2, 1, 5
 * }
 * }</pre>
 *
 * <p>The orders of PyTorch's Python samplers are in {@link io.torchfeed.sampler.python}.
 *
 * <p>Where the C++ classes crash or produce indices outside the dataset, these do not: arguments
 * are checked before they reach C++, and padding always lies inside the dataset.
 */
@NullMarked
package io.torchfeed.sampler.torch;

import org.jspecify.annotations.NullMarked;
