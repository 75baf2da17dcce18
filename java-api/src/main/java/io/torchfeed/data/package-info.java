// SPDX-License-Identifier: Apache-2.0
/**
 * Datasets, the loader, and the batches it delivers.
 *
 * <p>A loader turns the order of a {@link io.torchfeed.sampler.Sampler} into batches of tensors.
 * What it delivers is a function of plan, epoch and dataset alone; workers and prefetch change
 * speed, never content. This package knows samplers and memory, and makes tensors of what {@code
 * io.torchfeed.partition} reads; it must not import {@code io.torchfeed.distributed}.
 */
@NullMarked
package io.torchfeed.data;

import org.jspecify.annotations.NullMarked;
