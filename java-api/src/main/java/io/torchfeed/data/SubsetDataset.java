// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.RowSpec;
import java.util.List;

/** A dataset of some samples of another one. */
final class SubsetDataset implements Dataset {
  private final Dataset dataset;
  private final long[] indices;

  /** Takes ownership of the array. */
  SubsetDataset(Dataset dataset, long[] indices) {
    this.dataset = dataset;
    this.indices = indices;
    long size = dataset.size();
    for (long index : indices) {
      if (index < 0 || index >= size) {
        throw new IllegalArgumentException(
            "indices must be in [0, %d), got %d".formatted(size, index));
      }
    }
  }

  @Override
  public long size() {
    return indices.length;
  }

  @Override
  public List<RowSpec> columns() {
    return dataset.columns();
  }

  @Override
  public List<VariableLength> variableLengths() {
    return dataset.variableLengths();
  }

  @Override
  public void read(long index, SampleWriter sample) throws Exception {
    dataset.read(indices[(int) index], sample);
  }
}
