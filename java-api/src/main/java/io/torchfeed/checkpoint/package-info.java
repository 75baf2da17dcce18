// SPDX-License-Identifier: Apache-2.0
/**
 * The state that a training keeps from step to step, to be stopped and resumed, and its files.
 *
 * <p>An object that is {@link io.torchfeed.checkpoint.Stateful} gives out a {@link
 * io.torchfeed.checkpoint.StateDict}: named tensors, and all else as JSON. A {@link
 * io.torchfeed.checkpoint.TrainingState} names such objects, modules, optimizers of the presets and
 * values of the user; {@link io.torchfeed.checkpoint.Checkpoints} save and load it as a folder of
 * safetensors files and a manifest, which Python reads and writes as well. A {@link
 * io.torchfeed.checkpoint.SafetensorsFile} is also of use alone; a {@link
 * io.torchfeed.checkpoint.TorchFile} is one of Python's {@code torch.save}.
 *
 * <p>A run that resumes ends equal bit for bit to one that was not stopped if each rank restores
 * the parameters, the state of the optimizer, the {@linkplain
 * io.torchfeed.data.loader.Batches#state() position of the loader}, the generators of random
 * numbers that dropout draws from (or a seed for each epoch), and the states of this package's
 * objects.
 */
@NullMarked
package io.torchfeed.checkpoint;

import org.jspecify.annotations.NullMarked;
