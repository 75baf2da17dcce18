// SPDX-License-Identifier: Apache-2.0
/**
 * Host memory for batches, and their way to a device.
 *
 * <p>A {@link io.torchfeed.memory.Slab} is one block that holds a batch, written row by row and
 * seen as tensors; it may be page-locked. A {@link io.torchfeed.memory.DeviceTransfer} copies slabs
 * or any other tensors to a device behind the computation: events order copies and uses on the
 * device, the host does not wait. Without a device all of this is a clear error. This package knows
 * neither datasets nor samplers.
 */
@NullMarked
package io.torchfeed.memory;

import org.jspecify.annotations.NullMarked;
