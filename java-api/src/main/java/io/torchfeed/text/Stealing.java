// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import java.util.ArrayList;
import java.util.List;

/**
 * A balancer of the work that ranks have left, in whole ranges; the result depends on that work
 * alone.
 */
final class Stealing {
  private final List<List<ByteRange>> rests = new ArrayList<>();
  private final long[] left;

  private Stealing(List<List<ByteRange>> rests) {
    left = new long[rests.size()];
    for (int rank = 0; rank < left.length; rank++) {
      this.rests.add(new ArrayList<>(rests.get(rank)));
      left[rank] = rests.get(rank).stream().mapToLong(ByteRange::length).sum();
    }
  }

  static List<List<ByteRange>> evened(List<List<ByteRange>> rests) {
    Stealing stealing = new Stealing(rests);
    while (stealing.stealOne()) {}
    return stealing.rests.stream().map(List::copyOf).toList();
  }

  /**
   * Moves the last range of the rank with the most bytes left to the rank with the fewest, if that
   * helps.
   */
  private boolean stealOne() {
    int most = 0;
    int least = 0;
    for (int rank = 1; rank < left.length; rank++) {
      most = left[rank] > left[most] ? rank : most;
      least = left[rank] < left[least] ? rank : least;
    }
    List<ByteRange> from = rests.get(most);
    // The first range may be partly read: it stays, so that its reader need not stop.
    if (from.size() < 2) {
      return false;
    }
    ByteRange last = from.get(from.size() - 1);
    if (left[least] + last.length() >= left[most]) {
      return false;
    }
    from.remove(from.size() - 1);
    rests.get(least).add(last);
    left[most] -= last.length();
    left[least] += last.length();
    return true;
  }
}
