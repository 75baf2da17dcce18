// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.PositionCursor;

/** A sampler over a given list; an index below 0 is its complement, delivered as padding. */
public final class ListedSampler implements Sampler {
  private final long[][] epochs;

  public ListedSampler(long[]... epochs) {
    this.epochs = epochs;
  }

  @Override
  public long size() {
    return epochs[0].length;
  }

  @Override
  public Cursor epoch(long epoch) {
    long[] list = epochs[(int) (epoch % epochs.length)];
    return new PositionCursor(this, list.length) {
      @Override
      public void read(long start, long stride, long[] into, int from, int count) {
        for (int i = 0; i < count; i++) {
          long index = list[(int) (start + i * stride)];
          into[from + i] = index < 0 ? ~index : index;
        }
      }

      @Override
      public boolean paddingAt(long position) {
        return list[(int) position] < 0;
      }
    };
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("test.ListedSampler");
  }
}
