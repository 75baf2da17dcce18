// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * The order of Bagua's {@code LoadBalancingDistributedSampler}, bit for bit: samples sorted by
 * cost, cut into chunks of one sample for each rank, the chunks in random order. For runs that must
 * equal Bagua's; {@link LoadBalancingDistributedSampler} is the better plan, and {@link
 * BaguaLoadBalancingBatchSampler} cuts this one into batches of varying size.
 *
 * <p>Source: BaguaSys/bagua 3e480d29, {@code load_balancing_data_loader.py}, with the generator of
 * torch 2.10.0. The defaults are Bagua's, and what differs from them follows by name:
 *
 * <pre>{@code
 * new BaguaLoadBalancingSampler(costs, 2, 0).withLevel(0.5).withTail(Tail.DROP)
 * }</pre>
 *
 * <p>Epoch e is a pass after {@code set_epoch(e)}: its generator is seeded with {@code seed + e},
 * of which the low 32 bits count. {@link Tail#PAD} is {@code drop_last=False}.
 *
 * <p>What the order inherits from Bagua: {@link Tail#DROP} at level 0 leaves out the dearest
 * samples in every epoch; padding pairs the dearest samples with the cheapest; at level 0 the same
 * samples meet in every epoch, and a rank sees the same part of the dataset for ever; the last rank
 * has the dearest sample of every step; and only single samples are balanced, so that what is
 * padded to the longest sample of a batch is not. What it does not inherit: costs are read once and
 * never changed by the noise, a level outside of [0, 1] is refused at once, an empty dataset is an
 * empty order, and padding is flagged.
 *
 * <p>After a change of the world size the samples that are left are sorted and divided anew.
 *
 * <p>Immutable; any number of threads may open cursors. An open cursor holds 4 bytes for each
 * sample of the dataset; opening it takes one sort of the dataset and twelve bytes a sample.
 *
 * @param costs the cost of each sample of the dataset
 * @param worldSize number of ranks, at least 1
 * @param rank this rank, in [0, worldSize - 1]
 * @param shuffle whether chunks come in random order and costs have noise
 * @param seed any number; equal on all ranks
 * @param level the noise on costs as a share of their range, in [0, 1]; Bagua's {@code
 *     random_level}
 * @param tail {@link Tail#PAD} or {@link Tail#DROP}
 */
public record BaguaLoadBalancingSampler(
    Costs costs, int worldSize, int rank, boolean shuffle, long seed, double level, Tail tail)
    implements DistributedSampler {
  /**
   * A plan with everything given.
   *
   * @param costs the cost of each sample of the dataset
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @param shuffle whether chunks come in random order and costs have noise
   * @param seed any number; equal on all ranks
   * @param level the noise on costs as a share of their range, in [0, 1]
   * @param tail {@link Tail#PAD} or {@link Tail#DROP}
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public BaguaLoadBalancingSampler {
    requireNonNull(tail, "tail");
    Arguments.requireRank(costs.size(), worldSize, rank);
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
   * A plan with Bagua's defaults: shuffled, seed 0, level 0, padded.
   *
   * @param costs the cost of each sample of the dataset
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public BaguaLoadBalancingSampler(Costs costs, int worldSize, int rank) {
    this(costs, worldSize, rank, true, 0, 0, Tail.PAD);
  }

  /**
   * The plan without shuffle and noise: chunks from cheap to dear, in every epoch.
   *
   * @return the new plan
   */
  public BaguaLoadBalancingSampler inOrder() {
    return new BaguaLoadBalancingSampler(costs, worldSize, rank, false, seed, level, tail);
  }

  /**
   * This plan with another seed.
   *
   * @param seed any number; equal on all ranks
   * @return the new plan
   */
  public BaguaLoadBalancingSampler withSeed(long seed) {
    return new BaguaLoadBalancingSampler(costs, worldSize, rank, shuffle, seed, level, tail);
  }

  /**
   * This plan with another level of noise.
   *
   * @param level the noise on costs as a share of their range, in [0, 1]
   * @return the new plan
   * @throws IllegalArgumentException if {@code level} is outside of its range
   */
  public BaguaLoadBalancingSampler withLevel(double level) {
    return new BaguaLoadBalancingSampler(costs, worldSize, rank, shuffle, seed, level, tail);
  }

  /**
   * This plan with another tail.
   *
   * @param tail {@link Tail#PAD} or {@link Tail#DROP}
   * @return the new plan
   * @throws IllegalArgumentException if {@code tail} is {@link Tail#UNEVEN}
   */
  public BaguaLoadBalancingSampler withTail(Tail tail) {
    return new BaguaLoadBalancingSampler(costs, worldSize, rank, shuffle, seed, level, tail);
  }

  @Override
  public long size() {
    return Stride.sizeOfARank(costs.size(), worldSize, rank, tail);
  }

  @Override
  public Cursor epoch(long epoch) {
    return resume(epoch, List.of());
  }

  @Override
  public Cursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    return HeapMemory.planned(
        this,
        () -> {
          EpochProgress<BaguaChunks> progress =
              EpochProgress.of(new Division(epoch), delivered, worldSize);
          BaguaChunks chunks = progress.part();
          int position = (int) progress.delivered();
          return new BaguaCursor(this, chunks, chunks.order(), rank, position);
        });
  }

  /** The chunks of an epoch, and of what is left of it. */
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

  @Override
  public PlanParameters parameters() {
    return order().with("worldSize", worldSize).with("rank", rank);
  }
}
