// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.data.BatchTransform;
import io.torchfeed.data.VariableLength;
import io.torchfeed.data.VariableLength.Form;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The layout of the samples of a batch in a slab: the columns of the dataset, then one column of
 * lengths, masks or offsets for each column of variable length.
 */
public final class BatchLayout {
  private final List<RowSpec> columns;
  private final List<VariableLength> variable;
  private final List<RowSpec> slabColumns;
  private final long rowBytes;
  private final @Nullable BatchTransform transform;
  private final @Nullable BatchWork work;

  private BatchLayout(
      List<RowSpec> columns,
      List<VariableLength> variable,
      List<RowSpec> slabColumns,
      @Nullable BatchTransform transform,
      @Nullable BatchWork work) {
    this.columns = columns;
    this.variable = variable;
    this.slabColumns = slabColumns;
    this.rowBytes = slabColumns.stream().mapToLong(RowSpec::bytes).sum();
    this.transform = transform;
    this.work = work;
  }

  /**
   * Returns the layout of a dataset's batches.
   *
   * @throws IllegalArgumentException if a slab cannot hold a row, or a column of variable length
   *     does not exist, has no length, appears twice, or cannot hold its padding
   */
  public static BatchLayout of(
      List<RowSpec> columns, List<VariableLength> variable, @Nullable BatchTransform transform) {
    Slab.requireFits(columns, 1);
    List<RowSpec> all = new ArrayList<>(columns);
    boolean[] seen = new boolean[columns.size()];
    for (VariableLength length : variable) {
      if (length.column() >= seen.length || seen[length.column()]) {
        throw new IllegalArgumentException(
            "columns of variable length must be distinct and below %d, got %s"
                .formatted(seen.length, variable));
      }
      seen[length.column()] = true;
      RowSpec row = columns.get(length.column());
      if (row.shape().isEmpty() || row.elements() == 0) {
        throw new IllegalArgumentException(
            "column %d must have a length to vary, got %s".formatted(length.column(), row));
      }
      Padding.require(length, row);
      all.add(lengthsOf(length.form(), row));
    }
    return new BatchLayout(
        List.copyOf(columns), List.copyOf(variable), List.copyOf(all), transform, null);
  }

  /** Returns the same layout with a computation after the transform; null: without one. */
  public BatchLayout withWork(@Nullable BatchWork last) {
    return new BatchLayout(columns, variable, slabColumns, transform, last);
  }

  private static RowSpec lengthsOf(Form form, RowSpec row) {
    return switch (form) {
      case LENGTHS -> RowSpec.of(DType.INT64);
      case MASK -> RowSpec.of(DType.BOOL, row.shape().get(0));
      case OFFSETS -> RowSpec.of(DType.INT64, 2); // so that n rows have room for n + 1 offsets
    };
  }

  public List<RowSpec> columns() {
    return columns;
  }

  public List<VariableLength> variable() {
    return variable;
  }

  public List<RowSpec> slabColumns() {
    return slabColumns;
  }

  /** Returns whether the tensors of a batch are plain views of the slab. */
  public boolean isPlain() {
    return variable.isEmpty() && !isTransformed();
  }

  /** Returns the memory of a row over all columns, in bytes. */
  public long rowBytes() {
    return rowBytes;
  }

  /**
   * Returns the first rows of a slab as tensors, which the caller closes.
   *
   * @param lengths the result of {@link io.torchfeed.data.SampleWriter#endBatch} for these rows:
   *     the length of the batch in each column of variable length
   */
  public Tensor[] tensors(Slab slab, int rows, int[] lengths) {
    Tensor[] tensors = new Tensor[slabColumns.size()];
    for (int i = 0; i < tensors.length; i++) {
      int number = variableNumber(i);
      VariableLength length = number < 0 ? null : variable.get(number);
      tensors[i] =
          length == null ? slab.view(i, rows) : tensor(slab, i, rows, length, lengths[number]);
    }
    return tensors;
  }

  /** Returns whether a transform, or work after it, computes the tensors of a batch. */
  boolean isTransformed() {
    return transform != null || work != null;
  }

  /**
   * Returns the transformed tensors of a batch; the caller closes them. Unlike {@link #tensors},
   * this method runs user code and is therefore called on a worker.
   *
   * @param random the random numbers for the transform
   * @param seed the seed of the loader
   * @param samples the numbers of the samples
   * @return the tensors of the transform, and of the work after it
   */
  Tensor[] transformed(
      Slab slab,
      int rows,
      int[] lengths,
      SampleRandom random,
      long seed,
      long epoch,
      long[] samples)
      throws Exception {
    Tensor[] views = tensors(slab, rows, lengths);
    try (PointerScope scope = new PointerScope();
        NoGradGuard guard = new NoGradGuard()) {
      Tensor[] given = new Tensor[views.length];
      for (int i = 0; i < given.length; i++) {
        given[i] = new Tensor(views[i]); // the transform may close its arguments
      }
      Tensor[] made = given;
      if (transform != null) {
        made = transform.apply(given, random);
        requireTensors(made);
      }
      if (work != null) {
        made = work.apply(made, seed, epoch, samples);
      }
      return Arrays.stream(made)
          .map(tensor -> NativeHandle.outsideOfScopes(() -> new Tensor(tensor)))
          .toArray(Tensor[]::new);
    } finally {
      for (Tensor view : views) {
        view.close();
      }
    }
  }

  private static void requireTensors(@Nullable Tensor @Nullable [] made) {
    if (made == null) {
      throw new IllegalStateException("the batch transform returned null instead of tensors");
    }
    for (int i = 0; i < made.length; i++) {
      Tensor tensor = made[i];
      if (tensor == null || tensor.isNull() || !tensor.defined()) {
        throw new IllegalStateException("the batch transform returned no tensor " + i);
      }
    }
  }

  /**
   * Returns the number of the column of variable length that this column is or describes; -1 for
   * none.
   */
  private int variableNumber(int slabColumn) {
    if (slabColumn >= columns.size()) {
      return slabColumn - columns.size();
    }
    for (int i = 0; i < variable.size(); i++) {
      if (variable.get(i).column() == slabColumn) {
        return i;
      }
    }
    return -1;
  }

  private Tensor tensor(
      Slab slab, int slabColumn, int rows, VariableLength length, int batchLength) {
    boolean holdsLengths = slabColumn >= columns.size();
    return switch (length.form()) {
      case LENGTHS -> padded(slab, slabColumn, rows, holdsLengths ? null : batchLength);
      case MASK -> padded(slab, slabColumn, rows, batchLength);
      case OFFSETS -> packed(slab, slabColumn, holdsLengths ? rows + 1 : batchLength);
    };
  }

  private static Tensor padded(Slab slab, int column, int rows, @Nullable Integer longest) {
    Tensor whole = slab.view(column, rows);
    if (longest == null) {
      return whole;
    }
    try (whole) {
      return NativeHandle.outsideOfScopes(() -> whole.narrow(1, 0, longest));
    }
  }

  private static Tensor packed(Slab slab, int column, int count) {
    try (Tensor whole = slab.view(column, slab.rows());
        Tensor flat = NativeHandle.outsideOfScopes(() -> whole.flatten(0, 1))) {
      return NativeHandle.outsideOfScopes(() -> flat.narrow(0, 0, count));
    }
  }
}
