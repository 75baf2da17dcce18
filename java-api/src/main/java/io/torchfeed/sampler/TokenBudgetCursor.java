// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Objects;

/** One rank's pass over the batches of a planned epoch. */
final class TokenBudgetCursor implements BatchCursor {
  private final Object sampler;
  private final TokenBudgetPlan.Epoch batches;
  private final int rank;
  private int position;
  private volatile boolean closed;

  /**
   * A cursor at the first batch.
   *
   * @param sampler names the cursor in messages
   */
  TokenBudgetCursor(Object sampler, TokenBudgetPlan.Epoch batches, int rank) {
    this.sampler = sampler;
    this.batches = batches;
    this.rank = rank;
  }

  @Override
  public int next(long[] into, int from) {
    requireOpen();
    if (position == batches.steps()) {
      return 0;
    }
    int size = batches.size(position, rank);
    Objects.checkFromIndexSize(from, size, into.length);
    batches.read(position, rank, into, from);
    position++;
    return size;
  }

  @Override
  public long position() {
    requireOpen();
    return position;
  }

  @Override
  public void seek(long position) {
    requireOpen();
    if (position < 0 || position > batches.steps()) {
      throw new IllegalArgumentException(
          "position must be in [0, %d], got %d".formatted(batches.steps(), position));
    }
    this.position = (int) position;
  }

  @Override
  public long remaining() {
    requireOpen();
    return (long) batches.steps() - position;
  }

  @Override
  public boolean isPadding(long batch, int element) {
    requireOpen();
    int step = (int) Objects.checkIndex(batch, (long) batches.steps());
    return batches.isPadding(step, rank, Objects.checkIndex(element, batches.size(step, rank)));
  }

  @Override
  public void close() {
    closed = true;
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the cursor of " + sampler + " is closed");
    }
  }
}
