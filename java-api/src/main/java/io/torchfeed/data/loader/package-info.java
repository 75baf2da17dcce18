// SPDX-License-Identifier: Apache-2.0
/**
 * The loader, its passes over an epoch, and the batches that they deliver.
 *
 * <p>A loader turns the order of a {@link io.torchfeed.sampler.Sampler} into batches of tensors.
 * Their content depends only on plan, epoch and dataset; workers and prefetching affect speed,
 * never content. Batches are delivered in order, unless {@link
 * io.torchfeed.data.loader.DataLoaderBuilder#inOrder inOrder(false)} lets ready ones overtake.
 *
 * <p>Waits are bounded: {@link io.torchfeed.data.loader.DataLoaderBuilder#timeout timeout} limits
 * the wait for a batch, closing takes about a second at most, and threads that have not returned by
 * then are abandoned together with the memory they use. A batch takes less than a kilobyte of Java
 * heap whatever its size: index lists and slabs are reused when it ends.
 *
 * <p>This package must not import {@code io.torchfeed.distributed}.
 */
@NullMarked
package io.torchfeed.data.loader;

import org.jspecify.annotations.NullMarked;
