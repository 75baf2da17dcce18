// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One rank's part of a random order in which, step by step, all ranks have equally many samples of
 * nearly equal cost, so that none waits for the others.
 *
 * <p>A step is one batch of each rank. With {@link Grouping#BUCKETED}, the default, its samples are
 * of similar cost and little is padded to the longest one; with {@link Grouping#MIXED} every step
 * has samples of all costs. Each epoch brings other samples together.
 *
 * <pre>{@code
 * Costs lengths = Costs.of(7, 8, 11, 4, 5, 2, 9, 10, 0, 6, 1, 3);
 * Sampler sampler =
 *     LoadBalancingDistributedSampler.builder(lengths, 2, 0, 2).jitter(0).seed(42).build();
 * try (Cursor cursor = sampler.epoch(0)) {
 *   long[] indices = new long[6];
 *   int read = cursor.next(indices, 0, 6); // 6: the indices 1, 2, 5, 10, 0, 3
 * }
 * }</pre>
 *
 * <p><b>How.</b> The samples come in a random base order (a seekable permutation). A window of
 * steps at a time is sorted by cost and cut into one group for each step; the groups come in random
 * order. Each group is dealt by {@link StepDealing} and repaired by swaps; a group that equal
 * counts leave uneven by more than 0.4 % (costs that are few and far between) exchanges samples
 * with others of the window; and the dearest batch of a step goes to the rank that had least in the
 * window so far.
 *
 * <p><b>Bounds.</b> A rank cannot be cheaper than the dearest sample of its step and the cheapest
 * others, and where costs have a common divisor that does not divide evenly, totals differ by one
 * divisor. Padding grows with the samples of a step over those of a window, and with jitter.
 *
 * <p><b>Resume.</b> With the world size unchanged the epoch goes on as planned, at any position.
 * With another one, all that was not delivered is planned anew, also from the middle of a step; the
 * batch size is that of this plan. Padding is drawn from the head of the epoch's base order.
 *
 * <p>Immutable; any number of threads may open cursors. A cursor plans the window that it reads, in
 * O(window) time and about 20 bytes for each of the window's {@code window * worldSize * batchSize}
 * positions, of which it keeps 8; the samplers made by {@link #forRank} share the window planned
 * last. Seeking costs one window.
 *
 * <p>Source: torchfeed's own, from LPT with equal counts; the compatible form of Bagua's class of
 * this name is {@link BaguaLoadBalancingSampler}.
 */
public final class LoadBalancingDistributedSampler implements DistributedSampler {
  private final BalanceOptions options;
  private final int worldSize;
  private final int rank;
  private final AtomicReference<@Nullable Epoch> latest;

  private LoadBalancingDistributedSampler(
      BalanceOptions options, int worldSize, int rank, AtomicReference<@Nullable Epoch> latest) {
    this.options = options;
    this.worldSize = worldSize;
    this.rank = rank;
    this.latest = latest;
  }

  /**
   * A plan with default options, to be changed.
   *
   * @param costs the cost of each sample of the dataset
   * @param worldSize number of ranks, at least 1
   * @param rank this rank, in [0, worldSize - 1]
   * @param batchSize number of samples that a rank has in a step, at least 1; {@code worldSize *
   *     batchSize} is at most 2^21
   * @return the builder
   */
  public static Builder builder(Costs costs, int worldSize, int rank, int batchSize) {
    return new Builder(costs, worldSize, rank, batchSize);
  }

  /**
   * The part of another rank of the same order. Where one process reads several ranks, as a report
   * does, it plans each window once for all of them.
   *
   * @param rank the other rank, in [0, worldSize() - 1]
   * @return the sampler of that rank
   * @throws IllegalArgumentException if {@code rank} is outside of its range
   */
  public LoadBalancingDistributedSampler forRank(int rank) {
    Arguments.requireRank(options.costs().size(), worldSize, rank);
    return new LoadBalancingDistributedSampler(options, worldSize, rank, latest);
  }

  /**
   * The number of samples that a rank has in a step.
   *
   * @return the batch size, at least 1
   */
  public int batchSize() {
    return options.batchSize();
  }

  @Override
  public long size() {
    return options.steps(options.costs().size(), worldSize) * options.batchSize();
  }

  @Override
  public int worldSize() {
    return worldSize;
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public Cursor epoch(long epoch) {
    return resume(epoch, List.of());
  }

  @Override
  public Cursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    EpochProgress<BalancedPlan> progress =
        EpochProgress.of(new Division(epoch), delivered, worldSize);
    return new BalancedCursor(this, progress.part(), rank, progress.delivered());
  }

  @Override
  public PlanParameters order() {
    return options.parameters();
  }

  @Override
  public PlanParameters parameters() {
    return order().with("worldSize", worldSize).with("rank", rank);
  }

  private BalancedPlan wholeEpoch(int ranks, long epoch) {
    Epoch known = latest.get();
    if (known == null || known.number != epoch || known.plan.worldSize() != ranks) {
      RestOfEpoch all = RestOfEpoch.whole(options.costs().size(), options.seed(), epoch);
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
      RestOfEpoch rest = part.after(delivered);
      return new BalancedPlan(options, ranks, rest, epoch, part.segment() + 1);
    }

    @Override
    public long size(BalancedPlan part) {
      return part.size();
    }
  }

  /** Options of a {@link LoadBalancingDistributedSampler}. Not thread-safe. */
  public static final class Builder {
    private final Costs costs;
    private final int worldSize;
    private final int rank;
    private final int batchSize;
    private Grouping grouping = Grouping.BUCKETED;
    private StepDealing dealing = StepDealing.LARGEST_FIRST;
    private int window = 256;
    private double jitter = 0.005;
    private long seed;
    private Tail tail = Tail.PAD;

    private Builder(Costs costs, int worldSize, int rank, int batchSize) {
      this.costs = requireNonNull(costs, "costs");
      this.worldSize = worldSize;
      this.rank = rank;
      this.batchSize = batchSize;
    }

    /**
     * Which samples come together in a step; by default those of similar cost.
     *
     * @param grouping similar or mixed costs
     * @return this builder
     */
    public Builder grouping(Grouping grouping) {
      this.grouping = requireNonNull(grouping, "grouping");
      return this;
    }

    /**
     * How the samples of a step are divided over the ranks; by default the largest first.
     *
     * @param dealing the method
     * @return this builder
     */
    public Builder dealing(StepDealing dealing) {
      this.dealing = requireNonNull(dealing, "dealing");
      return this;
    }

    /**
     * How many steps are planned together; 256 by default. More steps mean less padding with {@link
     * Grouping#BUCKETED}, but more memory, and samples of an epoch that a single window covers meet
     * each other again more often in the next one. With one step and {@link Grouping#MIXED}, steps
     * are random samples of the dataset.
     *
     * @param window number of steps, at least 1; the positions of a window ({@code window *
     *     worldSize * batchSize}, or those of the whole epoch) are at most 2^30
     * @return this builder
     */
    public Builder window(int window) {
      this.window = window;
      return this;
    }

    /**
     * By which share of itself a cost may count as more or less in bucketing, at random in each
     * epoch; 0.005 by default. More jitter brings other samples together in each epoch, at the
     * price of padding. It matters most where few ranks cover the epoch in one window; {@link
     * BalanceReport} tells both.
     *
     * @param jitter the share, in [0, 0.5]; 0 for none
     * @return this builder
     */
    public Builder jitter(double jitter) {
      this.jitter = jitter;
      return this;
    }

    /**
     * The seed of the order; 0 by default.
     *
     * @param seed any number; together with the epoch it determines the order
     * @return this builder
     */
    public Builder seed(long seed) {
      this.seed = seed;
      return this;
    }

    /**
     * What happens to the last samples when steps do not divide the dataset; by default the last
     * step is padded. Otherwise they are left out of this epoch: fewer than {@code worldSize *
     * batchSize}, others in each epoch.
     *
     * @param tail {@link Tail#PAD} or {@link Tail#DROP}
     * @return this builder
     */
    public Builder tail(Tail tail) {
      this.tail = requireNonNull(tail, "tail");
      return this;
    }

    /**
     * The plan.
     *
     * @return the sampler of this rank
     * @throws IllegalArgumentException if an option is outside of its range
     */
    public LoadBalancingDistributedSampler build() {
      Arguments.requireRank(costs.size(), worldSize, rank);
      BalanceOptions options =
          new BalanceOptions(costs, batchSize, grouping, dealing, window, jitter, seed, tail);
      options.windowOf(costs.size(), worldSize);
      return new LoadBalancingDistributedSampler(options, worldSize, rank, new AtomicReference<>());
    }
  }
}
