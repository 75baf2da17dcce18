// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Objects;

/**
 * A sampler read a fixed number of indices at a time, the short last batch included.
 *
 * @param sampler gives the indices
 * @param batchSize number of indices of a full batch, at least 1
 */
record FixedSizeBatches(Sampler sampler, int batchSize) implements BatchSampler {
  @Override
  public long batches(long epoch) {
    return batching().count();
  }

  @Override
  public int largestBatch() {
    return (int) Math.max(1, Math.min(batchSize, sampler.size()));
  }

  @Override
  public BatchCursor epoch(long epoch) {
    return new Pass(sampler.epoch(epoch), batching());
  }

  @Override
  public PlanParameters parameters() {
    return sampler.parameters().with("batchSize", batchSize);
  }

  private Batching batching() {
    return new Batching(sampler.size(), batchSize, Batching.LastBatch.KEEP);
  }

  private record Pass(Cursor cursor, Batching batching) implements BatchCursor {
    @Override
    public int next(long[] into, int from) {
      long batch = position();
      if (batch == batching.count()) {
        return 0;
      }
      return cursor.next(into, from, batching.size(batch));
    }

    @Override
    public long position() {
      return (cursor.position() + batching.batchSize() - 1) / batching.batchSize();
    }

    @Override
    public void seek(long position) {
      if (position < 0 || position > batching.count()) {
        throw new IllegalArgumentException(
            "position must be in [0, %d], got %d".formatted(batching.count(), position));
      }
      cursor.seek(Math.min(batching.samples(), position * batching.batchSize()));
    }

    @Override
    public long remaining() {
      return batching.count() - position();
    }

    @Override
    public boolean isPadding(long batch, int element) {
      return cursor.isPadding(
          batching.start(batch) + Objects.checkIndex(element, batching.size(batch)));
    }

    @Override
    public void close() {
      cursor.close();
    }
  }
}
