// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeSlab;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * The memory of a slab's columns as buffers of their dtypes. A caller that uses a buffer holds the
 * slab's handle: the buffers do not keep the memory alive.
 */
final class ColumnBuffers {
  private final List<RowSpec> columns;
  private final Buffer[] elements; // one per column

  ColumnBuffers(List<RowSpec> columns, NativeHandle<NativeSlab> handle) {
    this.columns = columns;
    elements = new Buffer[columns.size()];
    for (int i = 0; i < elements.length; i++) {
      RowSpec column = columns.get(i);
      elements[i] = elements(column.dtype(), handle, i);
    }
  }

  /** Returns an index in [0, size); the exception for any other names it. */
  static int requireIndex(String name, int index, int size) {
    if (index < 0 || index >= size) {
      throw new IndexOutOfBoundsException(
          "%s must be in [0, %d], got %d".formatted(name, size - 1, index));
    }
    return index;
  }

  /** Requires a number of the first elements of something that has {@code size}. */
  static void requireCount(String name, int count, int size) {
    if (count < 0 || count > size) {
      throw new IndexOutOfBoundsException(
          "%s must be in [0, %d], got %d".formatted(name, size, count));
    }
  }

  /** Requires that {@code count} of the values, from {@code from} on, exist and fit a column. */
  static void requireRoom(Buffer column, int element, int values, int from, int count) {
    if (from < 0 || count < 0 || from > values - count) {
      throw new IndexOutOfBoundsException(
          "from and count must name a part of the %d values, got from %d and count %d"
              .formatted(values, from, count));
    }
    if (element < 0 || element > column.limit() - count) {
      throw new IndexOutOfBoundsException(
          "element must be in [0, %d] to write %d of the column's %d elements, got %d"
              .formatted(column.limit() - count, count, column.limit(), element));
    }
  }

  /**
   * Returns the elements of a column.
   *
   * @throws IllegalArgumentException if the column has a dtype that such a buffer cannot hold
   * @throws IndexOutOfBoundsException if there is no such column
   */
  <B extends Buffer> B of(Class<B> type, int column) {
    Buffer target = elements[requireIndex("column", column, elements.length)];
    if (!type.isInstance(target)) {
      throw new IllegalArgumentException(
          "column %d is %s, which a %s cannot hold"
              .formatted(column, columns.get(column), type.getSimpleName()));
    }
    return type.cast(target);
  }

  private static Buffer elements(DType dtype, NativeHandle<NativeSlab> handle, int column) {
    return elements(
        dtype,
        handle.call(
            slab ->
                NativeBytes.buffer(
                    slab.data(), slab.column_offset(column), slab.column_bytes(column))));
  }

  private static Buffer elements(DType dtype, ByteBuffer memory) {
    ByteBuffer bytes = memory.order(ByteOrder.nativeOrder());
    return switch (dtype) {
      case BOOL,
          UINT8,
          INT8,
          FLOAT8_E4M3FN,
          FLOAT8_E4M3FNUZ,
          FLOAT8_E5M2,
          FLOAT8_E5M2FNUZ,
          FLOAT8_E8M0FNU ->
          bytes;
      case UINT16, INT16, FLOAT16, BFLOAT16 -> bytes.asShortBuffer();
      case UINT32, INT32 -> bytes.asIntBuffer();
      case UINT64, INT64 -> bytes.asLongBuffer();
      case FLOAT32 -> bytes.asFloatBuffer();
      case FLOAT64 -> bytes.asDoubleBuffer();
      case COMPLEX32, COMPLEX64, COMPLEX128 -> throw new AssertionError("refused by requireFits");
    };
  }
}
