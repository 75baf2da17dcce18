// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.List;

/**
 * A column of a dataset, made of columns of a file: {@code [size]} of one of them, {@code [size,
 * n]} of several.
 *
 * @param dtype the type of the elements
 * @param names the names in the first line of the file, at least one
 */
public record CsvColumn(DType dtype, List<String> names) {
  /**
   * A column.
   *
   * @param dtype the type of the elements
   * @param names the names in the first line of the file
   * @throws IllegalArgumentException if there is no name
   */
  public CsvColumn {
    requireNonNull(dtype, "dtype");
    names = List.copyOf(names);
    if (names.isEmpty()) {
      throw new IllegalArgumentException("names must hold at least one column, got none");
    }
  }

  /**
   * A column.
   *
   * @param dtype the type of the elements
   * @param names the names in the first line of the file
   * @return the column
   * @throws IllegalArgumentException if there is no name
   */
  public static CsvColumn of(DType dtype, String... names) {
    return new CsvColumn(dtype, List.of(names));
  }

  RowSpec row() {
    return names.size() == 1 ? RowSpec.of(dtype) : RowSpec.of(dtype, names.size());
  }
}
