// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** One rank's pass over the batches of an epoch of Bagua's batch form. */
final class BaguaBatchCursor extends NumberedBatchCursor {
  private final BaguaBatches batches;

  BaguaBatchCursor(Object plan, BaguaBatches batches) {
    super(plan, batches.count());
    this.batches = batches;
  }

  @Override
  int size(long batch) {
    return batches.size((int) batch);
  }

  @Override
  void read(long batch, long[] into, int from) {
    batches.read((int) batch, into, from);
  }

  @Override
  boolean paddingAt(long batch, int element) {
    return batches.isPadding((int) batch, element);
  }
}
