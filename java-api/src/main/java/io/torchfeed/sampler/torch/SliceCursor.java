// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.PositionCursor;

/**
 * A cursor over one rank's contiguous slice of the rest of the dataset, in dataset order; past the
 * end the dataset's first samples are repeated, as padding.
 */
final class SliceCursor extends PositionCursor {
  private final RemainingSlices rest;
  private final long datasetSize;
  private final long first;

  /**
   * Creates a cursor.
   *
   * @param first the start of the slice, which may end past 2^63 if only padding lies there
   */
  SliceCursor(Sampler plan, RemainingSlices rest, long datasetSize, long first, long size) {
    super(plan, size);
    this.rest = rest;
    this.datasetSize = datasetSize;
    this.first = first;
  }

  @Override
  public void read(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      long at = first + start + i * stride;
      into[from + i] =
          Long.compareUnsigned(at, rest.size()) < 0
              ? rest.position(at)
              : (at - rest.size()) % datasetSize;
    }
  }

  @Override
  public boolean paddingAt(long position) {
    return Long.compareUnsigned(first + position, rest.size()) >= 0;
  }
}
