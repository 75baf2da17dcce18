// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.VariableLength;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.ColumnNames;
import io.torchfeed.memory.RowSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The data that a loader loads. */
sealed interface LoaderData {
  /** Returns whether Java code produces the samples. */
  default boolean isJavaCode() {
    return true;
  }

  /**
   * Returns the columns of the data.
   *
   * @throws NullPointerException if the data, which may be the caller's own, return null or a list
   *     with one
   */
  List<RowSpec> columns();

  /** Returns those whose samples differ in length. */
  default List<VariableLength> variableLengths() {
    return List.of();
  }

  /**
   * Returns the names of the columns of batches: lengths, masks and offsets are named after the
   * column that they belong to.
   *
   * @throws IllegalArgumentException if two columns have one name
   */
  default ColumnNames names() {
    List<String> names = new ArrayList<>();
    columns().forEach(row -> names.add(row.name()));
    int columns = names.size();
    for (VariableLength length : variableLengths()) {
      String name = length.column() < columns ? names.get(length.column()) : "";
      String form = length.form().name().toLowerCase(Locale.ROOT);
      names.add(name.isEmpty() ? "" : name + "." + form);
    }
    return ColumnNames.of(names);
  }

  /** Rows of tensors or files. */
  record Native(NativeDataset dataset) implements LoaderData {
    @Override
    public boolean isJavaCode() {
      return false;
    }

    @Override
    public List<RowSpec> columns() {
      return dataset.columns();
    }
  }

  /** Samples that are produced one by one, by index. */
  record Indexed(Dataset dataset) implements LoaderData {
    @Override
    public List<RowSpec> columns() {
      return Checks.copyOf("columns() of the dataset", dataset.columns());
    }

    @Override
    public List<VariableLength> variableLengths() {
      return Checks.copyOf("variableLengths() of the dataset", dataset.variableLengths());
    }
  }

  /** Samples that can only be read sequentially. */
  record Stream(StreamDataset dataset) implements LoaderData {
    @Override
    public List<RowSpec> columns() {
      return Checks.copyOf("columns() of the dataset", dataset.columns());
    }

    @Override
    public List<VariableLength> variableLengths() {
      return Checks.copyOf("variableLengths() of the dataset", dataset.variableLengths());
    }
  }
}
