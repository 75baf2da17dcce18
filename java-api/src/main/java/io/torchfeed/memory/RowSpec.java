// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The dtype and shape of one row of a column, and the name of the column, if it has one: a column
 * of {@code n} rows is a tensor {@code [n, shape...]}.
 *
 * @param dtype the type of the elements
 * @param shape the shape of one row; empty for one number per row
 * @param name the name of the column; empty for none
 */
public record RowSpec(DType dtype, List<Long> shape, String name) {
  /**
   * Creates the specification of a row.
   *
   * @param dtype the type of the elements
   * @param shape the shape of one row; empty for one number per row
   * @param name the name of the column; empty for none
   * @throws IllegalArgumentException if a dimension is negative, or a row takes 2^63 bytes or more
   */
  public RowSpec {
    requireNonNull(name, "name");
    requireNonNull(shape, "shape");
    requireNonNull(dtype, "dtype");
    shape = Checks.copyOf("shape", shape);
    long bytes = dtype.bytes();
    for (long dimension : shape) {
      if (dimension < 0) {
        throw new IllegalArgumentException("dimensions must be at least 0, got " + shape);
      }
      if (dimension > 0 && bytes > Long.MAX_VALUE / dimension) {
        throw new IllegalArgumentException(
            "a row must have fewer than 2^63 bytes, got %s of %s".formatted(shape, dtype));
      }
      bytes *= dimension;
    }
  }

  /**
   * Creates the specification of a row of a column without a name.
   *
   * @param dtype the type of the elements
   * @param shape the shape of one row; none for one number per row
   * @return the specification
   * @throws IllegalArgumentException if a dimension is negative, or a row takes 2^63 bytes or more
   */
  public static RowSpec of(DType dtype, long... shape) {
    requireNonNull(shape, "shape");
    return new RowSpec(dtype, Arrays.stream(shape).boxed().toList(), "");
  }

  /**
   * Creates the specification of a row of a column with a name, for {@code Batch.tensor}.
   *
   * @param name the name; other columns have other names
   * @param dtype the type of the elements
   * @param shape the shape of one row; none for one number per row
   * @return the specification
   * @throws IllegalArgumentException if a dimension is negative, or a row takes 2^63 bytes or more
   */
  public static RowSpec of(String name, DType dtype, long... shape) {
    return of(dtype, shape).withName(name);
  }

  /**
   * Returns this specification with another name of the column.
   *
   * @param name the name; empty for none
   * @return the specification
   */
  public RowSpec withName(String name) {
    return new RowSpec(dtype, shape, name);
  }

  /**
   * Returns whether rows of another column have the same dtype and shape, whatever the names.
   *
   * @param other the other column
   * @return true if they have
   */
  public boolean hasRowsOf(RowSpec other) {
    return dtype == requireNonNull(other, "other").dtype && shape.equals(other.shape);
  }

  /**
   * Returns the number of elements in a row.
   *
   * @return the product of the dimensions; 1 if there are none
   */
  public long elements() {
    long elements = 1;
    for (long dimension : shape) {
      elements *= dimension;
    }
    return elements;
  }

  /**
   * Returns the size of a row in bytes.
   *
   * @return the number of elements times the size of each
   */
  public long bytes() {
    return elements() * dtype.bytes();
  }

  /**
   * Returns the text, for example {@code float32 [1, 28, 28]} or {@code image: uint8 [3, 8, 8]}.
   */
  @Override
  public String toString() {
    return (name.isEmpty() ? "" : name + ": ")
        + dtype.name().toLowerCase(Locale.ROOT)
        + " "
        + shape;
  }
}
