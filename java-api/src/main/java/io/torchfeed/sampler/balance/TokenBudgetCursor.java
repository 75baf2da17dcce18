// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import io.torchfeed.sampler.cursor.NumberedBatchCursor;

/** A cursor over one rank's batches of a planned epoch. */
final class TokenBudgetCursor extends NumberedBatchCursor {
  private final TokenBudgetPlan.Epoch batches;
  private final int rank;

  TokenBudgetCursor(Object plan, TokenBudgetPlan.Epoch batches, int rank) {
    super(plan, batches.steps());
    this.batches = batches;
    this.rank = rank;
  }

  @Override
  public int size(long batch) {
    return batches.size((int) batch, rank);
  }

  @Override
  public void read(long batch, long[] into, int from) {
    batches.read((int) batch, rank, into, from);
  }

  @Override
  public boolean paddingAt(long batch, int element) {
    return batches.isPadding((int) batch, rank, element);
  }
}
