// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Door;
import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeSlab;
import io.torchfeed.bindings.torchfeed;
import io.torchfeed.internal.Checks;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A block of host memory that holds a batch: dense rows, column by column, each column aligned to
 * 64 bytes.
 *
 * <p>Rows are written from Java arrays, with a check against the column, and read as tensors
 * without a copy ({@link #view}). A view keeps the memory alive, even after {@link #close}; {@link
 * #isFree} reports whether none is left. One thread may write at a time; {@link #close} may be
 * called at any time from any thread and never frees memory that is being written.
 */
public final class Slab implements AutoCloseable {
  static {
    Door.SLAB.open(Slab.class, slab -> slab.handle);
  }

  private final List<RowSpec> columns;
  private final int rows;
  private final boolean pinned;
  private final NativeHandle<NativeSlab> handle;
  private final ColumnBuffers buffers;

  private Slab(List<RowSpec> columns, int rows, boolean pinned, NativeHandle<NativeSlab> handle) {
    this.columns = columns;
    this.rows = rows;
    this.pinned = pinned;
    this.handle = handle;
    buffers = new ColumnBuffers(columns, handle);
  }

  /**
   * Allocates a slab, whose content is undefined.
   *
   * @param columns the row layout of each column, at least one
   * @param rows the maximum number of rows of a batch, at least 1
   * @return the slab; the caller closes it
   * @throws IllegalArgumentException if there is no column or row, a column is complex, or a column
   *     of that many rows takes 2^31 bytes or more
   * @throws IllegalStateException if the machine has too little memory
   */
  public static Slab allocate(List<RowSpec> columns, int rows) {
    requireNonNull(columns, "columns");
    return create(columns, rows, null);
  }

  /**
   * Allocates a slab of page-locked memory; a {@link DeviceTransfer} copies asynchronously from it.
   * Page-locking is slow, so such slabs are allocated once and reused.
   *
   * @param columns the row layout of each column, at least one
   * @param rows the maximum number of rows of a batch, at least 1
   * @param device a device of the type for which to lock the memory, for example {@code cuda:0}
   * @return the slab; the caller closes it
   * @throws IllegalArgumentException if {@link #requireFits} throws it, or {@code device} is not
   *     the name of a device, names the CPU or has an index that is too high
   * @throws IllegalStateException if the machine has too little memory, or memory cannot be locked
   *     for such a device; the message names the missing part
   */
  public static Slab allocatePinned(List<RowSpec> columns, int rows, String device) {
    requireNonNull(columns, "columns");
    return create(columns, rows, requireNonNull(device, "device"));
  }

  private static Slab create(List<RowSpec> columns, int rows, @Nullable String device) {
    List<RowSpec> specs = Checks.copyOf("columns", columns);
    requireFits(specs, rows);
    try {
      return new Slab(
          specs,
          rows,
          device != null,
          NativeHandle.create("Slab", () -> createNative(specs, rows, device)));
    } catch (NativeException e) {
      throw new IllegalStateException(
          "a slab of %d rows of %s could not be allocated: %s"
              .formatted(rows, specs, e.getMessage()),
          e);
    }
  }

  /**
   * Returns the amount of page-locked memory held by the slabs of this process, including closed
   * slabs that are still viewed.
   *
   * @return the number of bytes
   */
  public static long pinnedBytes() {
    Facade.load();
    return torchfeed.pinned_bytes();
  }

  /**
   * Checks that {@link #allocate} would accept these arguments.
   *
   * @param columns the row layout of each column
   * @param rows the maximum number of rows of a batch
   * @throws IllegalArgumentException if there is no column or row, a column is complex, or a column
   *     of that many rows takes 2^31 bytes or more
   */
  public static void requireFits(List<RowSpec> columns, int rows) {
    SlabLimits.requireFits(Checks.copyOf("columns", columns), rows);
  }

  /**
   * Returns the amount of memory that {@link #allocate} would take.
   *
   * @param columns the row layout of each column
   * @param rows the maximum number of rows of a batch
   * @return the number of bytes
   * @throws IllegalArgumentException if {@link #requireFits} throws it
   */
  public static long bytes(List<RowSpec> columns, int rows) {
    return SlabLimits.bytes(Checks.copyOf("columns", columns), rows);
  }

  private static NativeSlab createNative(List<RowSpec> columns, int rows, @Nullable String device) {
    try (PointerScope scope = new PointerScope()) {
      Tensor[] prototypes = new Tensor[columns.size()];
      for (int i = 0; i < prototypes.length; i++) {
        RowSpec spec = columns.get(i);
        long[] sizes = new long[spec.shape().size() + 1];
        for (int d = 1; d < sizes.length; d++) {
          sizes[d] = spec.shape().get(d - 1);
        }
        TensorOptions options = new TensorOptions(spec.dtype().scalarType());
        prototypes[i] = torch.empty(sizes, options, new MemoryFormatOptional());
      }
      TensorVector vector = new TensorVector(prototypes);
      return NativeHandle.outsideOfScopes(
          () ->
              device == null
                  ? NativeSlab.create(vector, rows)
                  : NativeSlab.create_pinned(vector, rows, device));
    }
  }

  /**
   * Returns the row layout of each column.
   *
   * @return the columns, at least one
   */
  public List<RowSpec> columns() {
    return columns;
  }

  /**
   * Returns the maximum number of rows of a batch.
   *
   * @return at least 1
   */
  public int rows() {
    return rows;
  }

  /**
   * Returns whether the memory is page-locked.
   *
   * @return true for a slab of {@link #allocatePinned}
   */
  public boolean isPinned() {
    return pinned;
  }

  /**
   * Returns the first rows of a column as a tensor that shares the slab's memory and keeps it
   * alive.
   *
   * @param column the number of the column
   * @param count the number of rows, in [0, rows()]
   * @return a tensor {@code [count, shape...]}, which the caller closes
   * @throws IndexOutOfBoundsException if there is no such column or fewer rows
   * @throws IllegalStateException if the slab is closed
   */
  public Tensor view(int column, int count) {
    ColumnBuffers.requireIndex("column", column, columns.size());
    ColumnBuffers.requireCount("count", count, rows);
    return NativeHandle.outsideOfScopes(() -> handle.call(slab -> slab.view(column, count)));
  }

  /**
   * Views the first rows of all columns, in one call.
   *
   * @param count the number of rows, in [0, rows()]
   * @param views receives a tensor {@code [count, shape...]} for each column; it remains the
   *     caller's, and the memory stays alive as long as it holds them
   * @throws IndexOutOfBoundsException if the slab has fewer rows
   * @throws IllegalStateException if the slab is closed
   */
  public void views(int count, TensorVector views) {
    requireNonNull(views, "views");
    ColumnBuffers.requireCount("count", count, rows);
    handle.run(slab -> slab.view_all(count, views));
  }

  /**
   * Returns whether no tensor views the slab any more, so that it may be written again.
   *
   * @return false while a view, or a view derived from one, is alive
   * @throws IllegalStateException if the slab is closed
   */
  public boolean isFree() {
    return handle.call(NativeSlab::is_free);
  }

  /**
   * Writes into a column of dtype bool, uint8, int8 or, as its bits, a float8 type.
   *
   * @param column the number of the column
   * @param element the offset of the first element to write, in elements from the start of the
   *     column
   * @param values holds the numbers, starting at {@code from}
   * @param from the index of the first number in {@code values}
   * @param count the number of numbers to write
   * @throws IllegalArgumentException if the column has another dtype
   * @throws IndexOutOfBoundsException if the numbers do not fit the array or the column
   * @throws IllegalStateException if the slab is closed
   */
  public void put(int column, int element, byte[] values, int from, int count) {
    requireNonNull(values, "values");
    ByteBuffer target = buffers.of(ByteBuffer.class, column);
    ColumnBuffers.requireRoom(target, element, values.length, from, count);
    handle.acquire();
    try {
      target.put(element, values, from, count);
    } finally {
      handle.release();
    }
  }

  /**
   * Writes into a column of dtype int16, uint16 or, as its bits, float16 or bfloat16.
   *
   * @param column the number of the column
   * @param element the offset of the first element to write, in elements from the start of the
   *     column
   * @param values holds the numbers, starting at {@code from}
   * @param from the index of the first number in {@code values}
   * @param count the number of numbers to write
   * @throws IllegalArgumentException if the column has another dtype
   * @throws IndexOutOfBoundsException if the numbers do not fit the array or the column
   * @throws IllegalStateException if the slab is closed
   */
  public void put(int column, int element, short[] values, int from, int count) {
    requireNonNull(values, "values");
    ShortBuffer target = buffers.of(ShortBuffer.class, column);
    ColumnBuffers.requireRoom(target, element, values.length, from, count);
    handle.acquire();
    try {
      target.put(element, values, from, count);
    } finally {
      handle.release();
    }
  }

  /**
   * Writes into a column of dtype int32 or uint32.
   *
   * @param column the number of the column
   * @param element the offset of the first element to write, in elements from the start of the
   *     column
   * @param values holds the numbers, starting at {@code from}
   * @param from the index of the first number in {@code values}
   * @param count the number of numbers to write
   * @throws IllegalArgumentException if the column has another dtype
   * @throws IndexOutOfBoundsException if the numbers do not fit the array or the column
   * @throws IllegalStateException if the slab is closed
   */
  public void put(int column, int element, int[] values, int from, int count) {
    requireNonNull(values, "values");
    IntBuffer target = buffers.of(IntBuffer.class, column);
    ColumnBuffers.requireRoom(target, element, values.length, from, count);
    handle.acquire();
    try {
      target.put(element, values, from, count);
    } finally {
      handle.release();
    }
  }

  /**
   * Writes into a column of dtype int64 or uint64.
   *
   * @param column the number of the column
   * @param element the offset of the first element to write, in elements from the start of the
   *     column
   * @param values holds the numbers, starting at {@code from}
   * @param from the index of the first number in {@code values}
   * @param count the number of numbers to write
   * @throws IllegalArgumentException if the column has another dtype
   * @throws IndexOutOfBoundsException if the numbers do not fit the array or the column
   * @throws IllegalStateException if the slab is closed
   */
  public void put(int column, int element, long[] values, int from, int count) {
    requireNonNull(values, "values");
    LongBuffer target = buffers.of(LongBuffer.class, column);
    ColumnBuffers.requireRoom(target, element, values.length, from, count);
    handle.acquire();
    try {
      target.put(element, values, from, count);
    } finally {
      handle.release();
    }
  }

  /**
   * Writes into a column of dtype float32.
   *
   * @param column the number of the column
   * @param element the offset of the first element to write, in elements from the start of the
   *     column
   * @param values holds the numbers, starting at {@code from}
   * @param from the index of the first number in {@code values}
   * @param count the number of numbers to write
   * @throws IllegalArgumentException if the column has another dtype
   * @throws IndexOutOfBoundsException if the numbers do not fit the array or the column
   * @throws IllegalStateException if the slab is closed
   */
  public void put(int column, int element, float[] values, int from, int count) {
    requireNonNull(values, "values");
    FloatBuffer target = buffers.of(FloatBuffer.class, column);
    ColumnBuffers.requireRoom(target, element, values.length, from, count);
    handle.acquire();
    try {
      target.put(element, values, from, count);
    } finally {
      handle.release();
    }
  }

  /**
   * Writes into a column of dtype float64.
   *
   * @param column the number of the column
   * @param element the offset of the first element to write, in elements from the start of the
   *     column
   * @param values holds the numbers, starting at {@code from}
   * @param from the index of the first number in {@code values}
   * @param count the number of numbers to write
   * @throws IllegalArgumentException if the column has another dtype
   * @throws IndexOutOfBoundsException if the numbers do not fit the array or the column
   * @throws IllegalStateException if the slab is closed
   */
  public void put(int column, int element, double[] values, int from, int count) {
    requireNonNull(values, "values");
    DoubleBuffer target = buffers.of(DoubleBuffer.class, column);
    ColumnBuffers.requireRoom(target, element, values.length, from, count);
    handle.acquire();
    try {
      target.put(element, values, from, count);
    } finally {
      handle.release();
    }
  }

  /**
   * Releases the memory, which existing views keep alive. Afterwards every other call throws {@link
   * IllegalStateException}; closing a closed slab has no effect.
   */
  @Override
  public void close() {
    handle.close();
  }
}
