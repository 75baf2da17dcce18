// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.table.FittedColumns;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A column of a DataFrame as a column of tensors, or several of them as a tensor of a table: its
 * name, and the dtype and shape of a row.
 *
 * <p>Immutable and serializable.
 */
public final class RowColumn implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final Set<DType> DTYPES =
      Set.of(
          DType.BOOL,
          DType.UINT8,
          DType.INT8,
          DType.INT16,
          DType.INT32,
          DType.INT64,
          DType.FLOAT32,
          DType.FLOAT64);

  /** Makes the plan of images on the executor, since a plan has native memory. */
  @FunctionalInterface
  public interface ImagePlans extends Supplier<ImagePlan>, Serializable {}

  /** The column's name in the DataFrame. */
  private final String name;

  /** The dtype of an element. */
  private final DType dtype;

  /** The shape of a row. */
  private final long[] shape;

  /** Makes the plan that decodes images; null for numbers. */
  private final @Nullable ImagePlans plans;

  /** Makes the elements of several columns; null for one column of numbers or images. */
  private final @Nullable FittedColumns table;

  private RowColumn(
      String name,
      DType dtype,
      long[] shape,
      @Nullable ImagePlans plans,
      @Nullable FittedColumns table) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.plans = plans;
    this.table = table;
  }

  /**
   * Returns a column of numbers, arrays of numbers, vectors of Spark ML, dense or sparse, or binary
   * values, whose bytes are the elements.
   *
   * <p>Integers may become wider, narrower if each value fits, or floating point; floating-point
   * numbers stay so, and double precision may become single. Nulls are refused, as are arrays of
   * another length than the shape has elements.
   *
   * @param name the column's name in the DataFrame
   * @param dtype bool, uint8, int8, int16, int32, int64, float32 or float64
   * @param shape the shape of a row; none for one number per row
   * @return the column
   * @throws IllegalArgumentException if the dtype is another one, a dimension is below 1, or a row
   *     takes 2^31 bytes or more
   */
  public static RowColumn of(String name, DType dtype, long... shape) {
    requireNonNull(name, "name");
    requireNonNull(dtype, "dtype");
    requireNonNull(shape, "shape");
    if (!DTYPES.contains(dtype)) {
      throw new IllegalArgumentException(
          "column %s: the dtype must be one of %s, got %s".formatted(name, DTYPES, dtype));
    }
    return of(name, RowSpec.of(dtype, shape), null, null);
  }

  /**
   * Returns a column of binary values that are image files: each is decoded once, when the rows of
   * a rank are stored.
   *
   * @param name the column's name in the DataFrame
   * @param plans makes the plan of the images, without random steps; called here and on the
   *     executors
   * @return the column, of the plan's dtype and shape
   * @throws IllegalArgumentException if the plan has random steps
   */
  public static RowColumn image(String name, ImagePlans plans) {
    requireNonNull(name, "name");
    ImagePlan plan = requireNonNull(plans, "plans").get();
    if (plan.isRandom()) {
      throw new IllegalArgumentException(
          ("column %s: an image is decoded once for all epochs,"
                  + " so its plan must have no random steps")
              .formatted(name));
    }
    return of(name, plan.row(), plans, null);
  }

  /**
   * Returns a tensor of a table: numbers, categories and dates of one or several columns of the
   * DataFrame, with the means and vocabularies of the training rows. Columns are of numbers,
   * booleans, texts, dates or times; null is a missing value.
   *
   * @param fitted by {@code SparkTables.fit}, or of the same columns in CSV or Parquet files
   * @param tensor the name of one of its tensors, which is the name of the column
   * @return the column, of the tensor's dtype and shape
   * @throws IllegalArgumentException if there is no such tensor
   */
  public static RowColumn ofTable(FittedColumns fitted, String tensor) {
    requireNonNull(tensor, "tensor");
    FittedColumns one = requireNonNull(fitted, "fitted").only(tensor);
    return of(tensor, one.rows().get(0), null, one);
  }

  private static RowColumn of(
      String name, RowSpec row, @Nullable ImagePlans plans, @Nullable FittedColumns table) {
    if (row.bytes() < 1 || row.bytes() > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "column %s: a row must have 1 to %d bytes, got %s"
              .formatted(name, Integer.MAX_VALUE, row));
    }
    long[] shape = row.shape().stream().mapToLong(Long::longValue).toArray();
    return new RowColumn(name, row.dtype(), shape, plans, table);
  }

  /**
   * Returns the name.
   *
   * @return the column's name in the DataFrame, or the name of a table's tensor
   */
  public String name() {
    return name;
  }

  /**
   * Returns the name, dtype and shape of a row: a batch of {@code B} rows is a tensor {@code [B,
   * shape...]}.
   *
   * @return the row
   */
  public RowSpec row() {
    return RowSpec.of(name, dtype, shape);
  }

  /**
   * Returns the plans of {@link #image}.
   *
   * @return empty for numbers
   */
  public Optional<ImagePlans> plans() {
    return Optional.ofNullable(plans);
  }

  /**
   * Returns the learned columns of a tensor of a table.
   *
   * @return the tensor alone, of {@link #ofTable}; empty for one column of numbers or images
   */
  public Optional<FittedColumns> table() {
    return Optional.ofNullable(table);
  }

  /**
   * Returns the columns of the DataFrame that are needed.
   *
   * @return their names, at least one, as an unmodifiable list
   */
  public List<String> sources() {
    return table == null ? List.of(name) : table.columns().names();
  }

  /** Returns the name and the row, for example {@code pixels float32 [784]}. */
  @Override
  public String toString() {
    return name + " " + dtype.name().toLowerCase(Locale.ROOT) + " " + Arrays.toString(shape);
  }
}
