// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import io.torchfeed.sampler.cursor.NumberedBatchCursor;

/** A cursor over one rank's batches of an epoch, in the order of Bagua's batch sampler. */
final class BaguaBatchCursor extends NumberedBatchCursor {
  private final BaguaBatches batches;

  BaguaBatchCursor(Object plan, BaguaBatches batches) {
    super(plan, batches.count());
    this.batches = batches;
  }

  @Override
  public int size(long batch) {
    return batches.size((int) batch);
  }

  @Override
  public void read(long batch, long[] into, int from) {
    batches.read((int) batch, into, from);
  }

  @Override
  public boolean paddingAt(long batch, int element) {
    return batches.isPadding((int) batch, element);
  }
}
