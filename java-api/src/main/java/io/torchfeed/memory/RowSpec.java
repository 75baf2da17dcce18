// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.memory;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * What one row of a column looks like: a column of {@code n} rows is a tensor {@code [n,
 * shape...]}.
 *
 * @param dtype the type of the elements
 * @param shape the shape of one row; empty for a number a row
 */
public record RowSpec(DType dtype, List<Long> shape) {
  /**
   * A row.
   *
   * @param dtype the type of the elements
   * @param shape the shape of one row; empty for a number a row
   * @throws IllegalArgumentException if a dimension is negative, or a row has 2^31 bytes or more
   */
  public RowSpec {
    requireNonNull(dtype, "dtype");
    shape = List.copyOf(shape);
    long bytes = dtype.bytes();
    for (long dimension : shape) {
      if (dimension < 0) {
        throw new IllegalArgumentException("dimensions must be at least 0, got " + shape);
      }
      if (dimension > 0 && bytes > Integer.MAX_VALUE / dimension) {
        throw new IllegalArgumentException(
            "a row must have fewer than 2^31 bytes, got %s of %s".formatted(shape, dtype));
      }
      bytes *= dimension;
    }
  }

  /**
   * A row.
   *
   * @param dtype the type of the elements
   * @param shape the shape of one row; nothing for a number a row
   * @return the row
   * @throws IllegalArgumentException if a dimension is negative, or a row has 2^31 bytes or more
   */
  public static RowSpec of(DType dtype, long... shape) {
    return new RowSpec(dtype, Arrays.stream(shape).boxed().toList());
  }

  /**
   * How many elements a row has.
   *
   * @return the product of the dimensions, 1 without any
   */
  public int elements() {
    int elements = 1;
    for (long dimension : shape) {
      elements *= (int) dimension;
    }
    return elements;
  }

  /**
   * How many bytes a row has.
   *
   * @return elements times the size of each
   */
  public int bytes() {
    return elements() * dtype.bytes();
  }

  /** For example {@code float32 [1, 28, 28]}. */
  @Override
  public String toString() {
    return dtype.name().toLowerCase(Locale.ROOT) + " " + shape;
  }
}
