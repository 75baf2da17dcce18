// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.VariableLength;
import io.torchfeed.memory.RowSpec;
import java.util.List;

/** A dataset of objects that a collator writes as samples. */
record EncodedDataset<T>(ObjectDataset<T> objects, SampleEncoder<? super T> collator)
    implements Dataset {
  EncodedDataset {
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
    collator.write(requireNonNull(objects.get(index), "the object of the dataset"), sample);
  }
}
