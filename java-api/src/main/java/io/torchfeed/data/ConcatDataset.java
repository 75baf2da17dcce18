// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.RowSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The concatenation of datasets. */
final class ConcatDataset implements Dataset {
  private final List<Dataset> parts;
  private final List<RowSpec> columns;
  private final long[] ends;

  ConcatDataset(List<Dataset> parts) {
    if (parts.isEmpty()) {
      throw new IllegalArgumentException("at least one dataset is needed, got none");
    }
    this.parts = parts;
    ends = new long[parts.size()];
    columns = columns(parts.stream().map(Dataset::columns).toList());
    long end = 0;
    for (int i = 0; i < ends.length; i++) {
      if (!parts.get(i).variableLengths().equals(parts.get(0).variableLengths())) {
        throw new IllegalArgumentException(
            "all datasets must have the variable lengths of the first, %s, got %s in number %d"
                .formatted(parts.get(0).variableLengths(), parts.get(i).variableLengths(), i));
      }
      end = Math.addExact(end, parts.get(i).size());
      ends[i] = end;
    }
  }

  @Override
  public long size() {
    return ends[ends.length - 1];
  }

  /**
   * Returns the columns of a concatenation, with the names that some of its parts have.
   *
   * @throws IllegalArgumentException if the columns or their names differ
   */
  static List<RowSpec> columns(List<List<RowSpec>> parts) {
    List<RowSpec> columns = new ArrayList<>(parts.get(0));
    for (int i = 1; i < parts.size(); i++) {
      List<RowSpec> part = parts.get(i);
      boolean fits = part.size() == columns.size();
      for (int column = 0; fits && column < part.size(); column++) {
        RowSpec known = columns.get(column);
        RowSpec other = part.get(column);
        fits =
            other.hasRowsOf(known)
                && (known.name().isEmpty()
                    || other.name().isEmpty()
                    || known.name().equals(other.name()));
        columns.set(column, known.name().isEmpty() ? other : known);
      }
      if (!fits) {
        throw new IllegalArgumentException(
            "all datasets must have the columns of the first, %s, got %s in number %d"
                .formatted(parts.get(0), part, i));
      }
    }
    return List.copyOf(columns);
  }

  @Override
  public List<RowSpec> columns() {
    return columns;
  }

  @Override
  public List<VariableLength> variableLengths() {
    return parts.get(0).variableLengths();
  }

  @Override
  public void read(long index, SampleWriter sample) throws Exception {
    int found = Arrays.binarySearch(ends, index + 1);
    int part = found >= 0 ? found : -found - 1;
    while (part > 0 && ends[part - 1] == ends[part]) {
      part--; // the parts after the one that ends there are empty
    }
    parts.get(part).read(part == 0 ? index : index - ends[part - 1], sample);
  }
}
