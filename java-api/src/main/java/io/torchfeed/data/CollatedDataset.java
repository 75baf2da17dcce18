// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.RowSpec;
import java.util.List;

/** Objects with a collator. */
record CollatedDataset<T>(ObjectDataset<T> objects, Collator<? super T> collator)
    implements Dataset {
  CollatedDataset {
    requireNonNull(objects, "objects");
    requireNonNull(collator, "collator");
  }

  @Override
  public long size() {
    return objects.size();
  }

  @Override
  public List<RowSpec> columns() {
    return collator.columns();
  }

  @Override
  public List<VariableLength> variableLengths() {
    return collator.variableLengths();
  }

  @Override
  public void read(long index, SampleWriter sample) throws Exception {
    collator.write(objects.get(index), sample);
  }
}
