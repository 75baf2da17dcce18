// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.Continuation;
import java.util.List;

/**
 * A batch sampler that delivers any order in batches of a fixed size; a short last batch is kept or
 * dropped.
 *
 * <p>Source: torch 2.10.0, {@code BatchSampler} of {@code torch/utils/data/sampler.py}: its {@code
 * drop_last} is {@code dropLast}. Epoch e is epoch e of the order. Memory and time are the order's;
 * {@link io.torchfeed.sampler.Seekable#seek} is one seek of its cursor.
 *
 * <p>If the order is one rank's part, all ranks have the same number of batches if their parts are
 * equally long, as with {@link Tail#PAD} and {@link Tail#DROP}; with {@link Tail#UNEVEN} the number
 * can differ by one. A state counts the indices that the longest rank has delivered after as many
 * batches, so ranks that have delivered equally many batches have equal states.
 *
 * @param sampler the order
 * @param batchSize number of indices in a full batch, at least 1
 * @param dropLast whether a last batch that is not full is left out
 */
public record FixedSizeBatchSampler(Sampler sampler, int batchSize, boolean dropLast)
    implements BatchSampler {
  /**
   * Creates a plan that keeps or drops a short last batch.
   *
   * @param sampler the order
   * @param batchSize number of indices in a full batch, at least 1
   * @param dropLast whether a last batch that is not full is left out
   * @throws IllegalArgumentException if {@code batchSize} is less than 1
   */
  public FixedSizeBatchSampler {
    requireNonNull(sampler, "sampler");
    new Batching(sampler.size(), batchSize, dropLast);
  }

  /**
   * Creates a plan that keeps a short last batch.
   *
   * @param sampler the order
   * @param batchSize number of indices in a full batch, at least 1
   * @return the plan
   * @throws IllegalArgumentException if {@code batchSize} is less than 1
   */
  public static FixedSizeBatchSampler of(Sampler sampler, int batchSize) {
    requireNonNull(sampler, "sampler");
    return new FixedSizeBatchSampler(sampler, batchSize, false);
  }

  /**
   * Returns this plan with or without a last batch that is not full; it is kept by default.
   *
   * @param dropLast whether a last batch that is not full is left out
   * @return the new plan
   */
  public FixedSizeBatchSampler withDropLast(boolean dropLast) {
    return new FixedSizeBatchSampler(sampler, batchSize, dropLast);
  }

  private Batching batching(long samples) {
    return new Batching(samples, batchSize, dropLast);
  }

  @Override
  public long batches(long epoch) {
    Checks.requireEpoch(epoch);
    return batching(sampler.size()).count();
  }

  @Override
  public int maxBatchSize() {
    return (int) Math.max(1, Math.min(batchSize, sampler.size()));
  }

  @Override
  public BatchCursor epoch(long epoch) {
    Cursor order = Continuation.requireCursor(sampler.epoch(epoch), sampler);
    return new FixedSizeBatchCursor(this, order, 0, batching(sampler.size()), 0);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Segments count indices, so the batch size may change together with the number of ranks. If
   * the batch size of this plan does not divide the number of indices delivered, batches are formed
   * and numbered from there on.
   */
  @Override
  public BatchCursor resume(long epoch, List<EpochSegment> delivered) {
    requireNonNull(delivered, "delivered");
    Cursor order = Continuation.requireCursor(sampler.resume(epoch, delivered), sampler);
    long position = order.position();
    long origin = position % batchSize == 0 ? 0 : position;
    long samples = position + order.remaining() - origin;
    int last = delivered.size() - 1;
    boolean continues = last >= 0 && delivered.get(last).worldSize() == part().worldSize();
    long byLongest = continues ? delivered.get(last).deliveredByEachRank() : 0;
    return new FixedSizeBatchCursor(this, order, origin, batching(samples), byLongest);
  }

  @Override
  public Part part() {
    return sampler.part();
  }

  @Override
  public Tail tail() {
    return sampler.tail();
  }

  @Override
  public DatasetSize madeFor() {
    return sampler.madeFor();
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    return sampler.probe(epoch, worldSize);
  }

  /**
   * Returns the parameters of the order. Batches are not part of it, so a state of the sampler is
   * also a state of its batches.
   *
   * @return the parameters that {@link io.torchfeed.sampler.SamplerState} and {@link
   *     io.torchfeed.sampler.RankConsistency} compare
   */
  @Override
  public PlanParameters order() {
    return sampler.order();
  }

  @Override
  public PlanParameters parameters() {
    return sampler
        .parameters()
        .inside("batches", "batchSize", "lastBatch")
        .with("batchSize", batchSize)
        .with("lastBatch", dropLast ? "DROP" : "KEEP");
  }
}
