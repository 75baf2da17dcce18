// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * A cursor over one rank's contiguous slice of what is left of the dataset in its own order; behind
 * the end come the first samples once more, which is padding.
 */
final class SliceCursor extends PositionCursor {
  private final SlicedRest rest;
  private final long datasetSize;
  private final long first;

  /**
   * A cursor.
   *
   * @param first where the slice begins; it may end past 2^63, if only padding lies there
   */
  SliceCursor(Sampler plan, SlicedRest rest, long datasetSize, long first, long size) {
    super(plan, size);
    this.rest = rest;
    this.datasetSize = datasetSize;
    this.first = first;
  }

  @Override
  void read(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      long at = first + start + i * stride;
      into[from + i] =
          Long.compareUnsigned(at, rest.size()) < 0
              ? rest.position(at)
              : (at - rest.size()) % datasetSize;
    }
  }

  @Override
  boolean paddingAt(long position) {
    return Long.compareUnsigned(first + position, rest.size()) >= 0;
  }
}
