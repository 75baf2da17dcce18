// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.ArrayList;
import java.util.List;

/** Evens out what ranks have left, in whole ranges: a function of what is left alone. */
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

  /** The rank with least left takes the last range of the one with most, if that helps. */
  private boolean stealOne() {
    int most = 0;
    int least = 0;
    for (int rank = 1; rank < left.length; rank++) {
      most = left[rank] > left[most] ? rank : most;
      least = left[rank] < left[least] ? rank : least;
    }
    List<ByteRange> from = rests.get(most);
    // The first range may be half read: it stays, so that its reader need not stop.
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
