// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.PositionCursor;

/** A cursor over a list of indices in which padding is stored as the complement of its index. */
final class PaddedListCursor extends PositionCursor {
  private final int[] list;

  PaddedListCursor(Sampler plan, int[] list) {
    super(plan, list.length);
    this.list = list;
  }

  @Override
  public void read(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      int index = list[(int) (start + i * stride)];
      into[from + i] = index < 0 ? ~index : index;
    }
  }

  @Override
  public boolean paddingAt(long position) {
    return list[(int) position] < 0;
  }
}
