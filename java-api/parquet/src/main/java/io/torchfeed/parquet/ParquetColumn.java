// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.util.Objects.requireNonNull;

import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A column of Parquet files as a column of tensors: where it is, and the dtype and shape of a row.
 *
 * <p>Integers may become wider, narrower if each value fits, or floating point; floating-point
 * numbers stay so, and double precision may become single, half precision either. Decimals become
 * floating point. Dates, times and timestamps are integers, in the unit of the file (days for
 * dates, nanoseconds for INT96). Lists have as many elements as the shape, lists of lists as many
 * in each dimension. Binary values are the bytes of the elements. Text has no elements: see {@link
 * ParquetFiles#rows(io.torchfeed.table.FittedColumns)} for categories.
 *
 * <p>Immutable and thread-safe.
 */
public final class ParquetColumn {
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

  private final String path;
  private final RowSpec row;
  private final @Nullable Double missing;
  private final @Nullable ImagePlan plan;

  private ParquetColumn(
      String path, RowSpec row, @Nullable Double missing, @Nullable ImagePlan plan) {
    this.path = path;
    this.row = row;
    this.missing = missing;
    this.plan = plan;
  }

  /**
   * Returns a column of numbers, lists of numbers or binary values. Nulls are refused.
   *
   * @param path the column's name, or names with dots between them, from the outermost group to the
   *     field: {@code user.age}. A list is named without its inner groups
   * @param dtype bool, uint8, int8, int16, int32, int64, float32 or float64
   * @param shape the shape of a row; none for one number per row
   * @return the column, of the same name in the batches
   * @throws IllegalArgumentException if the path is empty, the dtype is another one, a dimension is
   *     below 1, or a row takes 2^31 bytes or more
   */
  public static ParquetColumn of(String path, DType dtype, long... shape) {
    requireNonNull(path, "path");
    requireNonNull(dtype, "dtype");
    requireNonNull(shape, "shape");
    if (!DTYPES.contains(dtype)) {
      throw new IllegalArgumentException(
          "column %s: the dtype must be one of %s, got %s".formatted(path, DTYPES, dtype));
    }
    return of(path, RowSpec.of(path, dtype, shape), null);
  }

  /**
   * Returns a column of binary values that are image files: each is decoded once, when the rows are
   * stored, or in each epoch of a stream.
   *
   * @param path as in {@link #of}
   * @param plan of the images, without random steps
   * @return the column, of the plan's dtype and shape
   * @throws IllegalArgumentException if the path is empty, or the plan has random steps
   */
  public static ParquetColumn image(String path, ImagePlan plan) {
    requireNonNull(path, "path");
    if (requireNonNull(plan, "plan").isRandom()) {
      throw new IllegalArgumentException(
          ("column %s: an image is decoded once for all epochs,"
                  + " so its plan must have no random steps")
              .formatted(path));
    }
    return of(path, plan.row().withName(path), plan);
  }

  private static ParquetColumn of(String path, RowSpec row, @Nullable ImagePlan plan) {
    if (path.isEmpty()) {
      throw new IllegalArgumentException("the path of a column must not be empty");
    }
    if (row.bytes() < 1 || row.bytes() > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "column %s: a row must have 1 to %d bytes, got %s"
              .formatted(path, Integer.MAX_VALUE, row));
    }
    return new ParquetColumn(path, row, null, plan);
  }

  /**
   * Returns this column with another name in the batches.
   *
   * @param name other columns have other names
   * @return the new column
   * @throws IllegalArgumentException if it is empty
   */
  public ParquetColumn withName(String name) {
    if (requireNonNull(name, "name").isEmpty()) {
      throw new IllegalArgumentException("the name of a column must not be empty");
    }
    return new ParquetColumn(path, row.withName(name), missing, plan);
  }

  /**
   * Returns this column with a number in place of nulls: of a null itself, of a null element of a
   * list, and of all elements of a list that is null. NaN in a file is a number, not a null.
   *
   * @param number of the dtype; NaN only for floating point
   * @return the new column
   * @throws IllegalArgumentException if it is not of the dtype, or the column has images
   */
  public ParquetColumn withMissingValue(double number) {
    if (plan != null) {
      throw new IllegalArgumentException("column %s: no number is an image".formatted(path));
    }
    NumberBytes.requireFits(path, row.dtype(), number);
    return new ParquetColumn(path, row, number, null);
  }

  /**
   * Returns where the column is.
   *
   * @return the path in the files
   */
  public String path() {
    return path;
  }

  /**
   * Returns the name in the batches, and the dtype and shape of a row: a batch of {@code B} rows is
   * a tensor {@code [B, shape...]}.
   *
   * @return the row
   */
  public RowSpec row() {
    return row;
  }

  /**
   * Returns the number in place of nulls.
   *
   * @return empty if they are refused
   */
  public OptionalDouble missingValue() {
    return missing == null ? OptionalDouble.empty() : OptionalDouble.of(missing);
  }

  /**
   * Returns the plan of {@link #image}.
   *
   * @return empty for numbers
   */
  public Optional<ImagePlan> plan() {
    return Optional.ofNullable(plan);
  }

  /** Returns a text with all of the description, for example {@code x = a.x: float32 [784]}. */
  @Override
  public String toString() {
    String what = plan == null ? row.withName("").toString() : "image " + plan;
    return "%s = %s: %s%s"
        .formatted(row.name(), path, what, missing == null ? "" : ", missing " + missing);
  }
}
