// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Tail;
import java.util.ArrayList;
import java.util.List;

/** The rest of a list after several consecutive segments. Takes a few bytes per segment. */
final class RemainingSlices {
  private final List<RankSlices> cuts = new ArrayList<>();
  private final long size;

  /**
   * Creates the rest of the list 0..listSize-1.
   *
   * @throws IllegalArgumentException if a segment exceeds the rest at its start
   */
  RemainingSlices(long listSize, Tail tail, List<EpochSegment> delivered) {
    long left = listSize;
    for (EpochSegment segment : delivered) {
      RankSlices cut = new RankSlices(left, segment, tail);
      left = cut.left();
      cuts.add(cut);
    }
    this.size = left;
  }

  long size() {
    return size;
  }

  /**
   * Returns the list position of an element of the rest.
   *
   * @param index in [0, size())
   */
  long position(long index) {
    long position = index;
    for (int i = cuts.size() - 1; i >= 0; i--) {
      position = cuts.get(i).position(position);
    }
    return position;
  }
}
