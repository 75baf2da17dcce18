// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.List;

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

  private Batching batching(long samples) {
    return new Batching(samples, batchSize, lastBatch);
  }

  @Override
  public long batches(long epoch) {
    Arguments.requireEpoch(epoch);
    return batching(sampler.size()).count();
  }

  @Override
  public int largestBatch() {
    return (int) Math.max(1, Math.min(batchSize, sampler.size()));
  }

  @Override
  public BatchCursor epoch(long epoch) {
    return new FixedBatchCursor(this, sampler.epoch(epoch), 0, batching(sampler.size()));
  }

  /**
   * {@inheritDoc}
   *
   * <p>Segments count indices, so that the size of batches may change together with the number of
   * ranks. Where this one does not divide what was delivered, batches are cut, and counted, from
   * there on.
   */
  @Override
  public BatchCursor resume(long epoch, List<Segment> delivered) {
    Cursor order = ResumableCursor.openAt(sampler, epoch, delivered);
    long position = order.position();
    long origin = position % batchSize == 0 ? 0 : position;
    long samples = position + order.remaining() - origin;
    return new FixedBatchCursor(this, order, origin, batching(samples));
  }

  @Override
  public int worldSize() {
    return SamplerState.worldSize(sampler);
  }

  @Override
  public int rank() {
    return SamplerState.rank(sampler);
  }

  /**
   * The parameters of the order: the batches are no part of it, and a state of the sampler is one
   * of the batches.
   *
   * @return the parameters that {@link SamplerState} and {@link PlanCheck} compare
   */
  @Override
  public PlanParameters order() {
    return SamplerState.order(sampler);
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
