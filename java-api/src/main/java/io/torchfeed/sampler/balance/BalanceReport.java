// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import java.util.Locale;
import java.util.function.IntFunction;

/**
 * A preview of a plan before anything is trained with it: how evenly the work of each step is
 * divided among the ranks, how much of it is padding, and how random the order still is. Immutable.
 *
 * <pre>{@code
 * BalanceReport report =
 *     BalanceReport.over(costs, 8)
 *         .samplers(32, rank -> ShuffledSampler.of(costs.size(), Part.rank(rank).of(8), 42));
 * System.out.println(report.table());
 * }</pre>
 *
 * <p>The <i>real cost</i> of a batch is the sum of its samples' costs; its <i>padded cost</i> is
 * the number of samples times the largest of these costs, which is the cost of the batch when all
 * samples are padded to the longest. A step takes as long as its slowest rank, so its
 * <i>imbalance</i> is the largest cost of any rank divided by the mean of the ranks: 1 is perfect;
 * 1.5 means that a third of the machines' time is spent waiting. A rank without a batch in a step
 * has cost 0 in it.
 *
 * @param steps number of steps in the epoch: the number of batches of the rank with the most
 * @param samples number of indices that all ranks deliver in the epoch, padding included
 * @param paddingSamples number of these indices that are flagged as padding
 * @param real imbalance of the real cost over the steps
 * @param padded imbalance of the padded cost over the steps
 * @param bound lower bound on the real imbalance of any division of the same steps: 1, or, if one
 *     sample costs more than the mean of the ranks, the imbalance caused by that sample together
 *     with as many of the smallest samples of the step as the smallest batch still needs
 * @param rankSpread spread of the ranks' real costs over the whole epoch: (max - min) / mean
 * @param paddedRankSpread the same for the padded cost
 * @param padding share of the padded cost that is not real, in [0, 1]
 * @param stepPadding the same if all ranks pad to the longest sample of the step
 * @param slowestCost the real cost of the slowest rank, summed over the steps: how long the epoch
 *     takes, in units of cost
 * @param slowestPaddedCost the same for the padded cost
 * @param randomness how much the order of the next epoch differs from this one
 */
public record BalanceReport(
    long steps,
    long samples,
    long paddingSamples,
    Imbalance real,
    Imbalance padded,
    Imbalance bound,
    double rankSpread,
    double paddedRankSpread,
    double padding,
    double stepPadding,
    double slowestCost,
    double slowestPaddedCost,
    Randomness randomness) {
  /**
   * Creates a value of its components.
   *
   * @param steps number of steps in the epoch: the number of batches of the rank with the most
   * @param samples number of indices that all ranks deliver in the epoch, padding included
   * @param paddingSamples number of these indices that are flagged as padding
   * @param real imbalance of the real cost over the steps
   * @param padded imbalance of the padded cost over the steps
   * @param bound lower bound on the real imbalance of any division of the same steps: 1, or, if one
   *     sample costs more than the mean of the ranks, the imbalance caused by that sample together
   *     with as many of the smallest samples of the step as the smallest batch still needs
   * @param rankSpread spread of the ranks' real costs over the whole epoch: (max - min) / mean
   * @param paddedRankSpread the same for the padded cost
   * @param padding share of the padded cost that is not real, in [0, 1]
   * @param stepPadding the same if all ranks pad to the longest sample of the step
   * @param slowestCost the real cost of the slowest rank, summed over the steps: how long the epoch
   *     takes, in units of cost
   * @param slowestPaddedCost the same for the padded cost
   * @param randomness how much the order of the next epoch differs from this one
   */
  public BalanceReport {
    requireNonNull(bound, "bound");
    requireNonNull(padded, "padded");
    requireNonNull(randomness, "randomness");
    requireNonNull(real, "real");
  }

  /**
   * A ratio over the steps of an epoch. All figures are at least 1, and 1 for an epoch without
   * steps.
   *
   * @param mean the mean over the steps
   * @param p99 the 99th percentile, interpolated linearly between steps
   * @param max the maximum over the steps
   */
  public record Imbalance(double mean, double p99, double max) {}

  /**
   * The difference between an epoch and the next one. Padding is left out; if a sample comes more
   * than once in an epoch, its last place counts.
   *
   * @param batchMates the share of a sample's batch-mates (same batch, so same rank and step) that
   *     are its batch-mates again, averaged over the samples that have any; for a random order, the
   *     number of mates divided by the number of all other samples
   * @param stepMates the same for the samples that share a step
   * @param betweenEpochs correlation, over the samples, between their steps in the two epochs, in
   *     [-1, 1]: about 0 for a random order, 1 for the same order
   * @param withCost correlation between a sample's cost and its step, in [-1, 1]: about 0 for a
   *     random order, near 1 for shortest first
   */
  public record Randomness(
      double batchMates, double stepMates, double betweenEpochs, double withCost) {}

  /**
   * Begins a report.
   *
   * @param costs the cost of each sample of the dataset
   * @param worldSize number of ranks, at least 1
   * @return a reader that reads plans and computes the report
   * @throws IllegalArgumentException if {@code worldSize} is outside [1, 1048576]
   */
  public static Reader over(Costs costs, int worldSize) {
    return new Reader(requireNonNull(costs, "costs"), worldSize, 0);
  }

  /**
   * Returns this report as text, with one line per item.
   *
   * @return lines of a name and its figures, each terminated by a line feed
   */
  public String table() {
    return line("steps, samples, padding samples", "%d  %d  %d", steps, samples, paddingSamples)
        + line("step imbalance, real cost", "%s", text(real))
        + line("  no division can be below", "%s", text(bound))
        + line("step imbalance, padded cost", "%s", text(padded))
        + line("rank totals, real and padded", "%s  %s", share(rankSpread), share(paddedRankSpread))
        + line("padding, of batch and of step", "%s  %s", share(padding), share(stepPadding))
        + line("batch-mates, step-mates again", "%s", text(randomness))
        + line(
            "correlation, epochs and cost",
            "%.4f  %.4f",
            randomness.betweenEpochs(),
            randomness.withCost());
  }

  private static String line(String name, String format, Object... figures) {
    return String.format(Locale.ROOT, "%-32s", name)
        + String.format(Locale.ROOT, format, figures)
        + "\n";
  }

  private static String text(Imbalance ratio) {
    return String.format(
        Locale.ROOT, "mean %.4f  p99 %.4f  max %.4f", ratio.mean(), ratio.p99(), ratio.max());
  }

  private static String text(Randomness randomness) {
    return share(randomness.batchMates()) + "  " + share(randomness.stepMates());
  }

  private static String share(double share) {
    return String.format(Locale.ROOT, "%.3f %%", 100 * share);
  }

  /**
   * A reader that reads the plans of all ranks, step by step, and computes the report. Immutable.
   *
   * <p>Both methods of reading open a cursor for each rank, first of the epoch and then of the next
   * one, and close it. They take 4 bytes per sample, 4 bytes per batch and 24 bytes per step, in
   * addition to the memory of the cursors.
   */
  public static final class Reader {
    private static final int MAX_RANKS = 1 << 20;

    private final Costs costs;
    private final int worldSize;
    private final long epoch;

    private Reader(Costs costs, int worldSize, long epoch) {
      Checks.requireWorldSize(worldSize, MAX_RANKS);
      Checks.requireEpoch(epoch);
      if (epoch == Long.MAX_VALUE) {
        throw new IllegalArgumentException(
            "epoch must be below %d, since it is compared with the next one".formatted(epoch));
      }
      this.costs = costs;
      this.worldSize = worldSize;
      this.epoch = epoch;
    }

    /**
     * Returns a reader of an epoch other than 0.
     *
     * @param epoch the number of the epoch, at least 0
     * @return the reader of that epoch
     * @throws IllegalArgumentException if {@code epoch} is negative, or the last one, which no
     *     other epoch follows
     */
    public Reader epoch(long epoch) {
      return new Reader(costs, worldSize, epoch);
    }

    /**
     * Returns the report on samplers that are read in batches of a fixed size.
     *
     * @param batchSize number of samples in a batch, at least 1
     * @param plan returns the sampler of a rank; called once for each rank
     * @return the report
     * @throws IllegalArgumentException if {@code batchSize} is less than 1, or an index has no cost
     */
    public BalanceReport samplers(int batchSize, IntFunction<? extends Sampler> plan) {
      requireNonNull(plan, "plan");
      if (batchSize < 1) {
        throw new IllegalArgumentException("batchSize must be at least 1, got " + batchSize);
      }
      return batchSamplers(rank -> FixedSizeBatchSampler.of(plan.apply(rank), batchSize));
    }

    /**
     * Returns the report on batch samplers.
     *
     * @param plan returns the sampler of a rank; called once for each rank
     * @return the report
     * @throws IllegalArgumentException if an index has no cost
     */
    public BalanceReport batchSamplers(IntFunction<? extends BatchSampler> plan) {
      requireNonNull(plan, "plan");
      BatchSampler[] ranks = new BatchSampler[worldSize];
      for (int rank = 0; rank < worldSize; rank++) {
        ranks[rank] = requireNonNull(plan.apply(rank), "plan");
      }
      return new BalanceMeter(costs, ranks).measure(epoch);
    }
  }
}
