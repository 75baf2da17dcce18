// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import org.jspecify.annotations.Nullable;

/** A cursor over one rank's part of a balanced plan, which holds the window that it is in. */
final class BalancedCursor extends PositionCursor {
  private final BalancedPlan plan;
  private final int rank;
  private final long delivered;
  private @Nullable BalancedWindow current;

  /**
   * A cursor.
   *
   * @param delivered how many of the rank's indices in this plan were delivered before
   */
  BalancedCursor(Sampler sampler, BalancedPlan plan, int rank, long delivered) {
    super(sampler, plan.size() - delivered);
    this.plan = plan;
    this.rank = rank;
    this.delivered = delivered;
  }

  @Override
  void read(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      long own = delivered + start + i * stride;
      BalancedWindow window = windowOf(own);
      into[from + i] = window.sampleAt(place(window, own));
    }
  }

  @Override
  boolean paddingAt(long position) {
    long own = delivered + position;
    if (!plan.hasPadding(own / plan.windowSize())) {
      return false;
    }
    BalancedWindow window = windowOf(own);
    return plan.isPadding(window.firstPosition() + place(window, own));
  }

  /** The window that has this rank's {@code own}-th index. */
  private BalancedWindow windowOf(long own) {
    long number = own / plan.windowSize();
    BalancedWindow window = current;
    if (window == null || window.number() != number) {
      window = plan.window(number);
      current = window;
    }
    return window;
  }

  /** The position within its window of this rank's {@code own}-th index. */
  private int place(BalancedWindow window, long own) {
    int inWindow = (int) (own % plan.windowSize());
    int batchSize = plan.batchSize();
    return window.at(inWindow / batchSize, rank, inWindow % batchSize);
  }
}
