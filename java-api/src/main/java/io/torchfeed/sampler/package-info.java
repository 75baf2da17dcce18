// SPDX-License-Identifier: Apache-2.0
/**
 * Which samples a rank sees, and in what order.
 *
 * <p>A {@link io.torchfeed.sampler.Sampler} is an immutable plan; {@link
 * io.torchfeed.sampler.Sampler#epoch epoch(e)} opens an independent {@link
 * io.torchfeed.sampler.Cursor} on one epoch, which delivers dataset indices in bulk. The four plans
 * here run the C++ classes of the same name in libtorch 2.10.0, so indices and batch boundaries
 * equal theirs, bit for bit:
 *
 * <pre>{@code
 * Sampler sampler = new DistributedRandomSampler(10, 3, 0);
 * try (Cursor cursor = sampler.epoch(0)) {
 *   long[] indices = new long[4];
 *   int read = cursor.next(indices, 0, 4); // 4: the indices 0, 2, 1, 5
 * }
 * }</pre>
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
