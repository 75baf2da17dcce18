// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.memory.RowSpec;
import java.util.List;

/** Rows as in {@link Rows}; an action runs before one of them. */
record MisbehavingDataset(MisbehavingDataset.Deed deed) implements Dataset {
  static final int SIZE = 12;

  /** The sample before which the action runs. */
  static final int BAD = 5;

  /** The action of one sample. */
  interface Deed {
    void run(SampleWriter sample) throws Exception;
  }

  /** Returns a loader with an action, in batches of 3. */
  static DataLoaderBuilder loader(int workers, Deed deed) {
    return DataLoader.over(new MisbehavingDataset(deed)).batchSize(3).workers(workers);
  }

  @Override
  public long size() {
    return SIZE;
  }

  @Override
  public List<RowSpec> columns() {
    return new RowData.Samples(SIZE).columns();
  }

  @Override
  public void read(long index, SampleWriter sample) throws Exception {
    if (index == BAD) {
      deed.run(sample);
    }
    new RowData.Samples(SIZE).read(index, sample);
  }
}
