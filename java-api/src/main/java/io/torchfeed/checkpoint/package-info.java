// SPDX-License-Identifier: Apache-2.0
/**
 * The state that a training keeps from step to step, to be stopped and resumed.
 *
 * <p>An object that is {@link io.torchfeed.checkpoint.Stateful} gives out a {@link
 * io.torchfeed.checkpoint.StateDict}: named tensors, and all else as JSON. The package stores
 * nothing and knows no files.
 *
 * <p>A run that resumes ends equal bit for bit to one that was not stopped if each rank restores
 * the parameters, the state of the optimizer, the {@linkplain io.torchfeed.data.Batches#state()
 * position of the loader}, the generators of random numbers that dropout draws from ({@code
 * Generator.get_state()} of the presets, or a seed for each epoch), and the states of this
 * package's objects.
 */
@NullMarked
package io.torchfeed.checkpoint;

import org.jspecify.annotations.NullMarked;
