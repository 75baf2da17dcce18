// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.HeapMemory;
import io.torchfeed.internal.Once;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.EpochProgress;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One rank's part of a random order in which, in every step, all ranks have the same number of
 * samples and nearly the same total cost, so that none waits for the others.
 *
 * <p>A step is one batch per rank. With {@link StepGrouping#BUCKETED}, the default, its samples
 * have similar costs, so little padding to the longest one is needed; with {@link
 * StepGrouping#MIXED} every step has samples of all costs. Each epoch groups the samples
 * differently.
 *
 * <pre>{@code
 * Costs lengths = Costs.of(7, 8, 11, 4, 5, 2, 9, 10, 0, 6, 1, 3);
 * Part part = Part.rank(0).of(2);
 * Sampler sampler =
 *     LoadBalancingDistributedSampler.builder(lengths, part, 2).jitter(0).seed(42).build();
 * try (Cursor cursor = sampler.epoch(0)) {
 *   long[] indices = new long[6];
 *   int read = cursor.next(indices, 0, 6); // 6: the indices 1, 2, 5, 10, 0, 3
 * }
 * }</pre>
 *
 * <p><b>Algorithm.</b> The samples come in a random base order (a seekable permutation). One window
 * of steps at a time is sorted by cost and cut into one group per step; the groups come in random
 * order. The samples of each group are assigned to the ranks, the largest first, each to the rank
 * with the smallest sum that still needs samples; swaps improve the result. A group that equal
 * counts leave uneven by more than 0.4 % (because costs are few and far between) exchanges samples
 * with other groups of the window. The most expensive batch of each step goes to the rank with the
 * smallest total in the window so far.
 *
 * <p><b>Padding.</b> The last step is filled with samples from the start of the epoch's base order.
 * If that makes a step uneven because costs have gaps (for example, if each of two clusters gets an
 * odd number of padding samples), other samples of the base order are used instead, so that the
 * size of each cluster is a multiple of the world size, as far as the number of padding samples
 * allows.
 *
 * <p><b>Bounds.</b> The rank with the most expensive sample of a step cannot cost less than that
 * sample and the cheapest others together. If all costs are multiples of a common divisor and the
 * sum does not divide evenly, totals differ by one divisor. Padding grows with the ratio of a
 * step's samples to a window's, and with jitter.
 *
 * <p><b>Resume.</b> If the world size is unchanged, the epoch continues as planned, from any
 * position. Otherwise all samples not yet delivered are planned again, even from the middle of a
 * step; the batch size is this plan's.
 *
 * <p>Immutable; any number of threads may open cursors. A cursor plans the window that it reads, in
 * O(window) time and with about 20 bytes, afterwards 8, for each of the window's {@code window *
 * worldSize * batchSize} positions; the samplers returned by {@link #forRank} share the most
 * recently planned window. Seeking costs planning one window.
 *
 * <p>Source: torchfeed's own, based on LPT with equal counts; {@link BaguaLoadBalancingSampler} is
 * the compatible form of Bagua's class of this name.
 */
public final class LoadBalancingDistributedSampler implements Sampler, DividedPlan<Cursor> {
  private final BalanceOptions options;
  private final Part part;
  private final AtomicReference<@Nullable Epoch> latest;

  private LoadBalancingDistributedSampler(
      BalanceOptions options, Part part, AtomicReference<@Nullable Epoch> latest) {
    this.options = options;
    this.part = part;
    this.latest = latest;
  }

  /**
   * Returns a builder with default options.
   *
   * @param costs the cost of each sample of the dataset
   * @param part the part of this rank
   * @param batchSize number of samples per rank and step, at least 1; {@code worldSize * batchSize}
   *     is at most 2^21
   * @return a new builder
   */
  public static Builder builder(Costs costs, Part part, int batchSize) {
    return new Builder(costs, part, batchSize);
  }

  /**
   * Returns the part of another rank of the same order. A process that reads several ranks, as a
   * report does, then plans each window once for all of them.
   *
   * @param rank the other rank, in [0, worldSize - 1]
   * @return the sampler of that rank
   * @throws IllegalArgumentException if {@code rank} is outside of its range
   */
  public LoadBalancingDistributedSampler forRank(int rank) {
    return new LoadBalancingDistributedSampler(options, new Part(part.worldSize(), rank), latest);
  }

  /**
   * Returns the number of samples per rank and step.
   *
   * @return the batch size, at least 1
   */
  public int batchSize() {
    return options.batchSize();
  }

  @Override
  public long size() {
    return options.steps(options.costs().size(), part.worldSize()) * options.batchSize();
  }

  @Override
  public Part part() {
    return part;
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    BalancedPlan plan =
        HeapMemory.planned(
            this, () -> EpochProgress.rest(new Division(epoch), before, part.worldSize()));
    return new BalancedCursor(this, plan, part.rank());
  }

  @Override
  public Tail tail() {
    return options.tail();
  }

  @Override
  public PlanParameters order() {
    return options.parameters();
  }

  private BalancedPlan wholeEpoch(int ranks, long epoch) {
    Epoch known = latest.get();
    if (known == null || known.number != epoch || known.plan.worldSize() != ranks) {
      RemainingSamples all = RemainingSamples.whole(options.costs().size(), options.seed(), epoch);
      known = new Epoch(epoch, new BalancedPlan(options, ranks, all, epoch, 0));
      latest.set(known);
    }
    return known.plan;
  }

  private record Epoch(long number, BalancedPlan plan) {}

  /** The plans of an epoch, one for each number of ranks that has delivered a part of it. */
  private final class Division implements EpochProgress.Division<BalancedPlan> {
    private final long epoch;

    Division(long epoch) {
      this.epoch = epoch;
    }

    @Override
    public BalancedPlan begin(int ranks) {
      return wholeEpoch(ranks, epoch);
    }

    @Override
    public BalancedPlan divideRest(BalancedPlan part, long delivered, int ranks) {
      RemainingSamples rest = part.after(delivered);
      return new BalancedPlan(options, ranks, rest, epoch, part.segment() + 1);
    }

    @Override
    public long size(BalancedPlan part) {
      return part.size();
    }
  }

  /**
   * A builder of {@link LoadBalancingDistributedSampler}s; each option can be set at most once. Not
   * thread-safe.
   */
  public static final class Builder {
    private final Costs costs;
    private final Part part;
    private final int batchSize;
    private @Nullable StepGrouping grouping;
    private @Nullable Integer window;
    private @Nullable Double jitter;
    private @Nullable Long seed;
    private @Nullable Tail tail;

    private Builder(Costs costs, Part part, int batchSize) {
      this.costs = requireNonNull(costs, "costs");
      this.part = requireNonNull(part, "part");
      this.batchSize = batchSize;
    }

    /**
     * Sets which samples are grouped into a step; by default samples of similar cost.
     *
     * @param grouping similar or mixed costs
     * @return this builder
     */
    public Builder grouping(StepGrouping grouping) {
      this.grouping = Once.set("grouping", this.grouping, requireNonNull(grouping, "grouping"));
      return this;
    }

    /**
     * Sets the number of steps that are planned together; 256 by default. More steps mean less
     * padding with {@link StepGrouping#BUCKETED} but more memory, and if a single window covers the
     * epoch, the same samples are grouped together more often in the next one. With one step and
     * {@link StepGrouping#MIXED}, steps are random samples of the dataset.
     *
     * @param window number of steps, at least 1; a window has at most 2^30 positions ({@code window
     *     * worldSize * batchSize}, or the whole epoch's)
     * @return this builder
     */
    public Builder window(int window) {
      this.window = Once.set("window", this.window, window);
      return this;
    }

    /**
     * Sets the fraction by which bucketing randomly raises or lowers a cost in each epoch; 0.005 by
     * default. More jitter makes the groups of different epochs differ more, at the price of
     * padding. It matters most if few ranks cover the epoch in one window; {@link BalanceReport}
     * reports both.
     *
     * @param jitter the fraction, in [0, 0.5]; 0 for none
     * @return this builder
     */
    public Builder jitter(double jitter) {
      this.jitter = Once.set("jitter", this.jitter, jitter);
      return this;
    }

    /**
     * Sets the seed of the order; 0 by default.
     *
     * @param seed any number; together with the epoch it determines the order
     * @return this builder
     */
    public Builder seed(long seed) {
      this.seed = Once.set("seed", this.seed, seed);
      return this;
    }

    /**
     * Sets the treatment of the last samples if the dataset is not a multiple of a step; by default
     * the last step is padded. Otherwise they are left out of the epoch: fewer than {@code
     * worldSize * batchSize}, and different ones in each epoch.
     *
     * @param tail {@link Tail#PAD} or {@link Tail#DROP}
     * @return this builder
     */
    public Builder tail(Tail tail) {
      this.tail = Once.set("tail", this.tail, requireNonNull(tail, "tail"));
      return this;
    }

    /**
     * Builds the plan.
     *
     * @return the sampler of this rank
     * @throws IllegalArgumentException if an option is outside of its range
     */
    public LoadBalancingDistributedSampler build() {
      BalanceOptions options =
          new BalanceOptions(
              costs,
              batchSize,
              grouping == null ? StepGrouping.BUCKETED : grouping,
              window == null ? 256 : window,
              jitter == null ? 0.005 : jitter,
              seed == null ? 0 : seed,
              tail == null ? Tail.PAD : tail);
      options.windowOf(costs.size(), part.worldSize());
      return new LoadBalancingDistributedSampler(options, part, new AtomicReference<>());
    }
  }
}
