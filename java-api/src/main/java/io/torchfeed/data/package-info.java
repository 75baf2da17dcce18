// SPDX-License-Identifier: Apache-2.0
/**
 * Datasets, the loader, and the batches it delivers.
 *
 * <p>A loader turns the order of a {@link io.torchfeed.sampler.Sampler} into batches of tensors.
 * What it delivers is a function of plan, epoch and dataset alone; workers and prefetch change
 * speed, never content. Batches come in order, unless {@link
 * io.torchfeed.data.DataLoaderBuilder#inOrder inOrder(false)} lets those that are ready overtake.
 *
 * <p>Nothing waits without an end: {@link io.torchfeed.data.DataLoaderBuilder#timeout timeout}
 * limits a wait for a batch, closing takes about a second at most, and threads that do not come
 * back by then are left behind with the memory that they use. A batch costs the Java heap less than
 * a kilobyte, whatever its size: index lists and slabs are reused when it ends.
 *
 * <p>This package knows samplers and memory, and makes tensors of what {@code
 * io.torchfeed.partition} reads; it must not import {@code io.torchfeed.distributed}.
 */
@NullMarked
package io.torchfeed.data;

import org.jspecify.annotations.NullMarked;
