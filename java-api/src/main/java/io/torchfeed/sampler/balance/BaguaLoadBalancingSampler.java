// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.HeapMemory;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.EpochProgress;
import io.torchfeed.sampler.cursor.Stride;
import java.util.List;

/**
 * A sampler that reproduces the order of Bagua's {@code LoadBalancingDistributedSampler}, bit for
 * bit: samples are sorted by cost and cut into chunks of one sample per rank, and the chunks come
 * in random order. It is meant for runs that must equal Bagua's; {@link
 * LoadBalancingDistributedSampler} is the better plan otherwise. {@link
 * BaguaLoadBalancingBatchSampler} cuts this order into batches of varying size.
 *
 * <p>Source: BaguaSys/bagua 3e480d29, {@code load_balancing_data_loader.py}, with the generator of
 * torch 2.10.0. The defaults are Bagua's; other values are set by name:
 *
 * <pre>{@code
 * Sampler sampler =
 *     BaguaLoadBalancingSampler.of(costs, Part.rank(0).of(2)).withLevel(0.5).withTail(Tail.DROP);
 * }</pre>
 *
 * <p>Epoch e is a pass after {@code set_epoch(e)}: its generator is seeded with the low 32 bits of
 * {@code seed + e}. {@link Tail#PAD} is {@code drop_last=False}.
 *
 * <p>Inherited from Bagua: {@link Tail#DROP} at level 0 leaves out the most expensive samples in
 * every epoch; padding pairs the most expensive samples with the cheapest; at level 0 the same
 * samples share a step in every epoch, and a rank always sees the same part of the dataset; the
 * last rank has the most expensive sample of every step; and only single samples are balanced, so
 * the cost of padding to the longest sample of a batch is not. Not inherited: costs are read once
 * and never changed by the noise, a level outside [0, 1] is rejected at once, an empty dataset is
 * an empty order, and padding is flagged.
 *
 * <p>After a change of world size the remaining samples are sorted and divided again.
 *
 * <p>Immutable; any number of threads may open cursors. An open cursor holds 4 bytes per sample of
 * the dataset; opening it takes one sort of the dataset and 12 bytes per sample.
 *
 * @param costs the cost of each sample of the dataset
 * @param part the part of this rank
 * @param shuffle whether chunks come in random order and noise is added to the costs
 * @param seed any number; equal on all ranks
 * @param level the noise added to the costs, as a share of their range, in [0, 1]; Bagua's {@code
 *     random_level}
 * @param tail {@link Tail#PAD} or {@link Tail#DROP}
 */
public record BaguaLoadBalancingSampler(
    Costs costs, Part part, boolean shuffle, long seed, double level, Tail tail)
    implements Sampler, DividedPlan<Cursor> {
  /**
   * Creates a plan with every option specified.
   *
   * @param costs the cost of each sample of the dataset
   * @param part the part of this rank
   * @param shuffle whether chunks come in random order and noise is added to the costs
   * @param seed any number; equal on all ranks
   * @param level the noise added to the costs, as a share of their range, in [0, 1]
   * @param tail {@link Tail#PAD} or {@link Tail#DROP}
   * @throws IllegalArgumentException if an argument is out of range
   */
  public BaguaLoadBalancingSampler {
    requireNonNull(costs, "costs");
    requireNonNull(part, "part");
    requireNonNull(tail, "tail");
    if (!(level >= 0 && level <= 1)) {
      throw new IllegalArgumentException("level must be in [0, 1], got " + level);
    }
    if (tail == Tail.UNEVEN) {
      throw new IllegalArgumentException(
          "tail must be PAD or DROP, since chunks have one sample for each rank, got UNEVEN");
    }
    level = Math.abs(level); // -0.0 is the same plan
  }

  /**
   * Creates a plan with Bagua's defaults: shuffled, seed 0, level 0, padded.
   *
   * @param costs the cost of each sample of the dataset
   * @param part the part of this rank
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static BaguaLoadBalancingSampler of(Costs costs, Part part) {
    requireNonNull(costs, "costs");
    return new BaguaLoadBalancingSampler(costs, part, true, 0, 0, Tail.PAD);
  }

  /**
   * Returns this plan without shuffling and noise: chunks in ascending order of cost, in every
   * epoch.
   *
   * @return the new plan
   */
  public BaguaLoadBalancingSampler inOrder() {
    return new BaguaLoadBalancingSampler(costs, part, false, seed, level, tail);
  }

  /**
   * Returns this plan with another seed.
   *
   * @param seed any number; equal on all ranks
   * @return the new plan
   */
  public BaguaLoadBalancingSampler withSeed(long seed) {
    return new BaguaLoadBalancingSampler(costs, part, shuffle, seed, level, tail);
  }

  /**
   * Returns this plan with another level of noise.
   *
   * @param level the noise added to the costs, as a share of their range, in [0, 1]
   * @return the new plan
   * @throws IllegalArgumentException if {@code level} is out of range
   */
  public BaguaLoadBalancingSampler withLevel(double level) {
    return new BaguaLoadBalancingSampler(costs, part, shuffle, seed, level, tail);
  }

  /**
   * Returns this plan with another tail.
   *
   * @param tail {@link Tail#PAD} or {@link Tail#DROP}
   * @return the new plan
   * @throws IllegalArgumentException if {@code tail} is {@link Tail#UNEVEN}
   */
  public BaguaLoadBalancingSampler withTail(Tail tail) {
    return new BaguaLoadBalancingSampler(costs, part, shuffle, seed, level, tail);
  }

  @Override
  public long size() {
    return Stride.sizeOfARank(costs.size(), part, tail);
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    return HeapMemory.planned(
        this,
        () -> {
          BaguaChunks chunks = EpochProgress.rest(new Division(epoch), before, part.worldSize());
          return new BaguaCursor(this, chunks, chunks.order(), part.rank());
        });
  }

  /** The division of an epoch, and of the rest of it, into chunks. */
  private final class Division implements EpochProgress.Division<BaguaChunks> {
    private final long epoch;

    Division(long epoch) {
      this.epoch = epoch;
    }

    @Override
    public BaguaChunks begin(int ranks) {
      return new BaguaChunks(BaguaLoadBalancingSampler.this, epoch, ranks);
    }

    @Override
    public BaguaChunks divideRest(BaguaChunks part, long delivered, int ranks) {
      return part.after(delivered, ranks);
    }

    @Override
    public long size(BaguaChunks part) {
      return part.count();
    }
  }

  @Override
  public PlanParameters order() {
    return PlanParameters.of("bagua.LoadBalancingDistributedSampler")
        .with("datasetSize", costs.size())
        .with("costs", costs.digest())
        .with("shuffle", shuffle)
        .with("seed", seed)
        .with("level", level)
        .with("tail", tail);
  }
}
