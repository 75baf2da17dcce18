// SPDX-License-Identifier: Apache-2.0
/**
 * Host memory for batches.
 *
 * <p>A {@link io.torchfeed.memory.Slab} is one block that holds a batch, written row by row and
 * seen as tensors. This package knows neither datasets nor samplers.
 */
@NullMarked
package io.torchfeed.memory;

import org.jspecify.annotations.NullMarked;
