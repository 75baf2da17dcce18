// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.PositionCursor;
import org.jspecify.annotations.Nullable;

/** A cursor over one rank's part of a balanced plan, which holds the current window. */
final class BalancedCursor extends PositionCursor {
  private final BalancedPlan plan;
  private final int rank;
  private @Nullable BalancedWindow current;

  BalancedCursor(Sampler sampler, BalancedPlan plan, int rank) {
    super(sampler, plan.size());
    this.plan = plan;
    this.rank = rank;
  }

  @Override
  public void read(long start, long stride, long[] into, int from, int count) {
    for (int i = 0; i < count; i++) {
      long own = start + i * stride;
      BalancedWindow window = windowOf(own);
      into[from + i] = window.sampleAt(place(window, own));
    }
  }

  @Override
  public boolean paddingAt(long own) {
    if (!plan.hasPadding(own / plan.windowSize())) {
      return false;
    }
    BalancedWindow window = windowOf(own);
    return plan.isPadding(window.firstPosition() + place(window, own));
  }

  /** Returns the window that contains this rank's {@code own}-th index. */
  private BalancedWindow windowOf(long own) {
    long number = own / plan.windowSize();
    BalancedWindow window = current;
    if (window == null || window.number() != number) {
      window = plan.window(number);
      current = window;
    }
    return window;
  }

  /** Returns the position within its window of this rank's {@code own}-th index. */
  private int place(BalancedWindow window, long own) {
    int inWindow = (int) (own % plan.windowSize());
    int batchSize = plan.batchSize();
    return window.at(inWindow / batchSize, rank, inWindow % batchSize);
  }
}
