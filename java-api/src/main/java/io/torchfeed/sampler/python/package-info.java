// SPDX-License-Identifier: Apache-2.0
/**
 * The orders of PyTorch's Python samplers, bit for bit, computed in Java from the same random
 * numbers; nothing here needs libtorch.
 *
 * <p>{@link io.torchfeed.sampler.python.PythonDistributedSampler}, {@link
 * io.torchfeed.sampler.python.PythonRandomSampler}, {@link
 * io.torchfeed.sampler.python.SubsetRandomSampler} and {@link
 * io.torchfeed.sampler.python.WeightedRandomSampler} are plans. {@link
 * io.torchfeed.sampler.python.PythonGenerator.Use} covers the orders of Python's {@code
 * DataLoader}, which also draws from its sampler's generator, and {@link
 * io.torchfeed.sampler.python.PythonGenerator} provides the random numbers themselves, for samplers
 * of your own and for seeds from libtorch's process-wide generator.
 */
@NullMarked
package io.torchfeed.sampler.python;

import org.jspecify.annotations.NullMarked;
