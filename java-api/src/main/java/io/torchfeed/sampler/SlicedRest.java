// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.ArrayList;
import java.util.List;

/** What several segments, one after the other, left of a list. Takes a few bytes a segment. */
final class SlicedRest {
  private final List<Slices> cuts = new ArrayList<>();
  private final long size;

  /**
   * The rest of the list 0..listSize-1.
   *
   * @throws IllegalArgumentException if a segment is longer than what the ones before it left
   */
  SlicedRest(long listSize, Tail tail, List<Segment> delivered) {
    long left = listSize;
    for (Segment segment : delivered) {
      Slices cut = new Slices(left, segment, tail);
      left = cut.left();
      cuts.add(cut);
    }
    this.size = left;
  }

  long size() {
    return size;
  }

  /**
   * The position in the list of one that is left.
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
