// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.internal.Quotes;
import java.util.ArrayList;
import java.util.List;

/** The samples that were left out of batches: their number, and the first of them with reasons. */
public final class SkippedSamples {
  /** The most samples that are kept with their reasons. */
  static final int MAX_KEPT = 100;

  private static final int MAX_REASON = 1000; // characters

  private final List<LoaderFigures.Skipped> first = new ArrayList<>();
  private long count;

  /** Adds a sample. */
  void add(long index, long epoch, String reason) {
    count++;
    if (first.size() < MAX_KEPT) {
      String line = Quotes.shortened(Quotes.printable(reason), MAX_REASON);
      first.add(new LoaderFigures.Skipped(index, epoch, line));
    }
  }

  /** Adds others, as far as there is room. */
  void addAll(SkippedSamples others) {
    count += others.count;
    int room = Math.min(MAX_KEPT - first.size(), others.first.size());
    first.addAll(others.first.subList(0, room));
  }

  long count() {
    return count;
  }

  /** Returns the kept samples. */
  List<LoaderFigures.Skipped> first() {
    return List.copyOf(first);
  }
}
