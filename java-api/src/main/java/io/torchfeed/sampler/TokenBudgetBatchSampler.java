// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Batches of as many samples as fit a budget: count times the longest sample, which is what a batch
 * costs that is padded to its longest, never exceeds it. The budget may be tokens, frames, pixels
 * or microseconds.
 *
 * <ul>
 *   <li>Every rank has the same number of batches in an epoch (which may differ from epoch to epoch
 *       by a few), and none is empty.
 *   <li>Every sample comes once an epoch. Only where even batches of one sample would not give each
 *       rank as many are samples repeated, and {@link BatchCursor#isPadding flagged}.
 *   <li>In a step the ranks have batches of about the same padded cost, at 50,000 samples of common
 *       lengths within 1 % on average; the samples of a batch are of about the same length.
 *   <li>Order and batch-mates are random: steps come in random order, and a sample meets most of
 *       the time others in the next epoch.
 * </ul>
 *
 * <p>Balance needs samples to choose from: with fewer than some ten batches a rank, or a budget
 * that holds few samples only, steps are balanced less well. A cost of 0 counts as 1.
 *
 * <p>The whole epoch is planned when its first cursor is opened (or {@link #batches} is asked), in
 * O(n log n), and kept until another epoch is asked for: 4 bytes a sample, shared by the samplers
 * that {@link #forRank} makes. {@link BatchCursor#seek} takes constant time. Immutable otherwise;
 * any number of threads may open cursors. The batches are a function of the parameters, the same on
 * every machine.
 *
 * <p>Source: torchfeed's own. Length-sorted batches under a budget of tokens are what fairseq's
 * {@code max_tokens} makes; that the ranks' batches of a step are alike is new.
 */
public final class TokenBudgetBatchSampler implements BatchSampler {
  private final Builder options;
  private final TokenBudgetPlan plan;
  private final int rank;
  private final int largestBatch;

  private TokenBudgetBatchSampler(
      Builder options, TokenBudgetPlan plan, int rank, int largestBatch) {
    this.options = options;
    this.plan = plan;
    this.rank = rank;
    this.largestBatch = largestBatch;
  }

  /**
   * A builder of samplers; one rank, no limit of samples, seed 0 unless it is told otherwise.
   *
   * @param costs the length of each sample
   * @param budget the most that a batch may cost, count times longest, in [1, 2^42)
   * @return a new builder
   * @throws IllegalArgumentException if the budget is outside of its range, or a sample is longer
   *     than it
   */
  public static Builder builder(Costs costs, long budget) {
    return new Builder(costs, budget);
  }

  /**
   * The same plan for another rank, which shares the memory of this one.
   *
   * @param rank the rank, in [0, worldSize() - 1]
   * @return that rank's sampler
   * @throws IllegalArgumentException if {@code rank} is outside of its range
   */
  public TokenBudgetBatchSampler forRank(int rank) {
    Arguments.requireRank(options.costs.size(), options.worldSize(), rank);
    return new TokenBudgetBatchSampler(options, plan, rank, largestBatch);
  }

  @Override
  public int worldSize() {
    return options.worldSize();
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public long batches(long epoch) {
    Arguments.requireEpoch(epoch);
    return plan.epoch(epoch).steps();
  }

  @Override
  public int largestBatch() {
    return largestBatch;
  }

  @Override
  public BatchCursor epoch(long epoch) {
    return resume(epoch, List.of());
  }

  /**
   * {@inheritDoc}
   *
   * <p>Where the rest is divided anew, its plan takes the memory of an epoch of that many samples,
   * which the cursor holds.
   */
  @Override
  public BatchCursor resume(long epoch, List<Segment> delivered) {
    Arguments.requireEpoch(epoch);
    EpochProgress<TokenBudgetPlan.Epoch> progress =
        HeapMemory.planned(
            this, () -> EpochProgress.of(plan.division(epoch), delivered, worldSize()));
    BatchCursor cursor = new TokenBudgetCursor(this, progress.part(), rank);
    cursor.seek(progress.delivered());
    return cursor;
  }

  @Override
  public PlanParameters parameters() {
    return order().with("worldSize", options.worldSize()).with("rank", rank);
  }

  @Override
  public PlanParameters order() {
    return PlanParameters.of("torchfeed.TokenBudgetBatchSampler")
        .with("costs", options.costs.digest())
        .with("datasetSize", options.costs.size())
        .with("budget", options.budget)
        .with("mostSamples", options.mostSamples())
        .with("seed", options.seed());
  }

  @Override
  public String toString() {
    return "TokenBudgetBatchSampler" + parameters().values();
  }

  /** Collects the options of a {@link TokenBudgetBatchSampler}, each at most once. */
  public static final class Builder {
    private final Costs costs;
    private final long budget;
    private @Nullable Integer worldSize;
    private @Nullable Integer rank;
    private @Nullable Integer mostSamples;
    private @Nullable Long seed;

    private Builder(Costs costs, long budget) {
      this.costs = requireNonNull(costs, "costs");
      this.budget = budget;
      if (budget < 1 || budget >= Costs.LIMIT) {
        throw new IllegalArgumentException("budget must be in [1, 2^42), got " + budget);
      }
      for (int i = 0; i < costs.size(); i++) {
        if (costs.at(i) > budget) {
          throw new IllegalArgumentException(
              "every sample must fit the budget %d, got cost %d at index %d; raise the budget or cut the sample"
                  .formatted(budget, costs.at(i), i));
        }
      }
    }

    private Builder(Builder other) {
      costs = other.costs;
      budget = other.budget;
      worldSize = other.worldSize;
      rank = other.rank;
      mostSamples = other.mostSamples;
      seed = other.seed;
    }

    /**
     * Sets the ranks that share the dataset.
     *
     * @param worldSize number of ranks, in [1, 65536]
     * @param rank this rank, in [0, worldSize - 1]
     * @return this builder
     * @throws IllegalArgumentException if an argument is outside of its range
     * @throws IllegalStateException if it was set before
     */
    public Builder ranks(int worldSize, int rank) {
      requireUnset("ranks", this.worldSize);
      Arguments.requireRank(costs.size(), worldSize, rank);
      if (worldSize > 1 << 16) {
        throw new IllegalArgumentException("worldSize must be in [1, 65536], got " + worldSize);
      }
      this.worldSize = worldSize;
      this.rank = rank;
      return this;
    }

    /**
     * Limits the number of samples of a batch.
     *
     * @param mostSamples number of samples, at least 1
     * @return this builder
     * @throws IllegalArgumentException if it is less than 1
     * @throws IllegalStateException if it was set before
     */
    public Builder mostSamples(int mostSamples) {
      requireUnset("mostSamples", this.mostSamples);
      if (mostSamples < 1) {
        throw new IllegalArgumentException("mostSamples must be at least 1, got " + mostSamples);
      }
      this.mostSamples = mostSamples;
      return this;
    }

    /**
     * Sets what all random choices depend on, beside the epoch.
     *
     * @param seed any number; all 64 bits count
     * @return this builder
     * @throws IllegalStateException if it was set before
     */
    public Builder seed(long seed) {
      requireUnset("seed", this.seed);
      this.seed = seed;
      return this;
    }

    /**
     * The sampler with these options.
     *
     * @return a new sampler
     */
    public TokenBudgetBatchSampler build() {
      Builder options = new Builder(this);
      int largest = options.largestBatch();
      TokenBudgetPlan plan =
          new TokenBudgetPlan(costs, options.worldSize(), budget, largest, options.seed());
      return new TokenBudgetBatchSampler(
          options, plan, Objects.requireNonNullElse(options.rank, 0), largest);
    }

    private int worldSize() {
      return Objects.requireNonNullElse(worldSize, 1);
    }

    private int mostSamples() {
      return Objects.requireNonNullElse(mostSamples, Integer.MAX_VALUE);
    }

    private long seed() {
      return Objects.requireNonNullElse(seed, 0L);
    }

    private int largestBatch() {
      long shortest = budget;
      for (int i = 0; i < costs.size(); i++) {
        shortest = Math.min(shortest, Math.max(1, costs.at(i)));
      }
      long most = Math.min(budget / shortest, Math.max(1, costs.size()));
      return (int) Math.min(most, mostSamples());
    }

    private static void requireUnset(String name, @Nullable Object value) {
      if (value != null) {
        throw new IllegalStateException("%s was set already, to %s".formatted(name, value));
      }
    }
  }
}
