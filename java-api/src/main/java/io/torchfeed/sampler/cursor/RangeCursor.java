// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

/** A cursor over 0, 1, 2, … */
public final class RangeCursor extends PositionCursor {
  public RangeCursor(Object plan, long size) {
    super(plan, size);
  }

  @Override
  public void read(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      into[from + i] = start + i * stride;
    }
  }
}
