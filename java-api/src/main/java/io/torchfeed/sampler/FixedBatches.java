// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * Any order in batches of one size, the short last batch kept or dropped.
 *
 * <p>Source: torch 2.10.0, {@code BatchSampler} of {@code torch/utils/data/sampler.py}: its {@code
 * drop_last} is {@link Batching.LastBatch#DROP}. Epoch e is epoch e of the order. Memory and time
 * are those of the order; {@link BatchCursor#seek} is one seek of it.
 *
 * <p>Over one rank's part the number of batches is the same on every rank where the parts are
 * equally long, as with {@link Tail#PAD} and {@link Tail#DROP}; with {@link Tail#UNEVEN} it can
 * differ by one.
 *
 * @param sampler the order
 * @param batchSize number of indices in a full batch, at least 1
 * @param lastBatch what becomes of a last batch that is not full
 */
public record FixedBatches(Sampler sampler, int batchSize, Batching.LastBatch lastBatch)
    implements BatchSampler {
  /**
   * A plan with the given last batch.
   *
   * @param sampler the order
   * @param batchSize number of indices in a full batch, at least 1
   * @param lastBatch what becomes of a last batch that is not full
   * @throws IllegalArgumentException if {@code batchSize} is less than 1
   */
  public FixedBatches {
    new Batching(sampler.size(), batchSize, lastBatch);
  }

  /**
   * A plan that keeps a short last batch.
   *
   * @param sampler the order
   * @param batchSize number of indices in a full batch, at least 1
   * @throws IllegalArgumentException if {@code batchSize} is less than 1
   */
  public FixedBatches(Sampler sampler, int batchSize) {
    this(sampler, batchSize, Batching.LastBatch.KEEP);
  }

  private Batching batching() {
    return new Batching(sampler.size(), batchSize, lastBatch);
  }

  @Override
  public long batches(long epoch) {
    Arguments.requireEpoch(epoch);
    return batching().count();
  }

  @Override
  public int largestBatch() {
    return (int) Math.max(1, Math.min(batchSize, sampler.size()));
  }

  @Override
  public BatchCursor epoch(long epoch) {
    return new FixedBatchCursor(this, sampler.epoch(epoch), batching());
  }

  @Override
  public PlanParameters parameters() {
    return sampler
        .parameters()
        .inside("batches", "batchSize", "lastBatch")
        .with("batchSize", batchSize)
        .with("lastBatch", lastBatch);
  }
}
