// SPDX-License-Identifier: Apache-2.0
/**
 * Host memory for batches, and their transfer to a device.
 *
 * <p>A {@link io.torchfeed.memory.Slab} is a block that holds a batch, written row by row and
 * viewed as tensors; it may be page-locked. A {@link io.torchfeed.memory.DeviceTransfer} copies
 * slabs or any other tensors to a device concurrently with computation: events order copies and
 * uses on the device, and the host does not wait. Without a device, transfers and page-locked slabs
 * fail with a clear error.
 *
 * <p>A {@link io.torchfeed.memory.RowSpec} describes the rows of a column by {@link
 * io.torchfeed.memory.DType} and shape, in slabs as in the tensors and files of datasets, and a
 * {@link io.torchfeed.memory.RowTransform} their transform in native code. This package knows
 * nothing about datasets or samplers.
 */
@NullMarked
package io.torchfeed.memory;

import org.jspecify.annotations.NullMarked;
