// SPDX-License-Identifier: Apache-2.0
/**
 * The orders of libtorch's C++ samplers and of PyTorch's Python samplers, bit for bit.
 *
 * <p>The plans named after the C++ classes of libtorch 2.10.0 ({@link
 * io.torchfeed.sampler.torch.SequentialSampler}, {@link io.torchfeed.sampler.torch.RandomSampler},
 * {@link io.torchfeed.sampler.torch.DistributedSequentialSampler}, {@link
 * io.torchfeed.sampler.torch.DistributedRandomSampler}) run those classes, so indices and batch
 * boundaries equal theirs:
 *
 * <pre>{@code
 * Sampler sampler = new DistributedRandomSampler(10, 3, 0);
 * try (Cursor cursor = sampler.epoch(0)) {
 *   long[] indices = new long[4];
 *   int read = cursor.next(indices, 0, 4); // 4: the indices 0, 2, 1, 5
 * }
 * }</pre>
 *
 * <p>The samplers of PyTorch's Python package are computed in Java from the same random numbers:
 * {@link io.torchfeed.sampler.torch.PythonDistributedSampler}, {@link
 * io.torchfeed.sampler.torch.PythonRandomSampler}, {@link
 * io.torchfeed.sampler.torch.SubsetRandomSampler} and {@link
 * io.torchfeed.sampler.torch.WeightedRandomSampler}. {@link
 * io.torchfeed.sampler.torch.PythonGenerator.Use} covers the orders of Python's {@code DataLoader},
 * which also draws from its sampler's generator, and {@link
 * io.torchfeed.sampler.torch.PythonGenerator} provides the random numbers themselves, for samplers
 * of your own and for seeds from libtorch's process-wide generator.
 *
 * <p>Where the C++ classes crash or produce indices outside the dataset, these do not: arguments
 * are checked before they reach C++, and padding always lies inside the dataset.
 */
@NullMarked
package io.torchfeed.sampler.torch;

import org.jspecify.annotations.NullMarked;
