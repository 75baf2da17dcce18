// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.ResumableCursor;
import io.torchfeed.sampler.balance.BalanceReport.Imbalance;
import io.torchfeed.sampler.balance.BalanceReport.Randomness;
import io.torchfeed.sampler.cursor.PlanChecks;
import java.util.Arrays;

/**
 * A meter that computes a {@link BalanceReport} in one pass over an epoch and one over the next.
 */
final class BalanceMeter {
  private static final int MAX_BATCHES = 1 << 28;

  private final Costs costs;
  private final BatchSampler[] ranks;
  private final long[] indices;
  private final double[] totals;
  private final double[] paddedTotals;
  private final int[] batchOf; // batch of each sample in the first epoch, or -1

  private int steps;
  private long samples;
  private long paddingSamples;
  private double stepPadded;
  private double slowest;
  private double slowestPadded;
  private double[] real = new double[0];
  private double[] padded = new double[0];
  private double[] bound = new double[0];
  private int[] batchSizes = new int[0]; // without padding
  private int[] stepSizes = new int[0];
  private final Correlation withCost = new Correlation();
  private final Correlation betweenEpochs = new Correlation();

  private long[] stepCosts = new long[0];
  private long batchCost;
  private long batchLongest;

  BalanceMeter(Costs costs, BatchSampler[] ranks) {
    this.costs = costs;
    this.ranks = ranks;
    int largest = Arrays.stream(ranks).mapToInt(PlanChecks::maxBatchSize).max().orElse(0);
    indices = new long[largest];
    totals = new double[ranks.length];
    paddedTotals = new double[ranks.length];
    batchOf = new int[costs.size()];
    Arrays.fill(batchOf, -1);
  }

  BalanceReport measure(long epoch) {
    readFirst(epoch);
    Again batchMates = new Again(batchSizes);
    Again stepMates = new Again(stepSizes);
    readNext(epoch + 1, batchMates, stepMates);
    double realSum = Arrays.stream(totals).sum();
    double paddedSum = Arrays.stream(paddedTotals).sum();
    return new BalanceReport(
        steps,
        samples,
        paddingSamples,
        imbalance(real),
        imbalance(padded),
        imbalance(bound),
        spread(totals),
        spread(paddedTotals),
        paddedSum == 0 ? 0 : 1 - realSum / paddedSum,
        stepPadded == 0 ? 0 : 1 - realSum / stepPadded,
        slowest,
        slowestPadded,
        new Randomness(
            batchMates.share(), stepMates.share(), betweenEpochs.value(), withCost.value()));
  }

  private void readFirst(long epoch) {
    steps = steps(epoch);
    real = new double[steps];
    padded = new double[steps];
    bound = new double[steps];
    batchSizes = new int[steps * ranks.length];
    stepSizes = new int[steps];
    try (Cursors cursors = new Cursors(epoch)) {
      for (int step = 0; step < steps; step++) {
        readStep(cursors, step);
      }
    }
  }

  private int steps(long epoch) {
    long most = Arrays.stream(ranks).mapToLong(rank -> rank.batches(epoch)).max().orElse(0);
    if (most > MAX_BATCHES / ranks.length) {
      throw new IllegalArgumentException(
          "a report covers at most %d batches of all ranks, got %d ranks with %d batches"
              .formatted(MAX_BATCHES, ranks.length, most));
    }
    return (int) most;
  }

  private void readStep(Cursors cursors, int step) {
    double sum = 0;
    double paddedSum = 0;
    double most = 0;
    double mostPadded = 0;
    long longest = 0;
    int count = 0;
    int fewest = Integer.MAX_VALUE;
    for (int rank = 0; rank < ranks.length; rank++) {
      int size = readBatch(cursors, step, rank, count);
      fewest = Math.min(fewest, size);
      double cost = batchCost;
      double paddedCost = (double) size * batchLongest;
      totals[rank] += cost;
      paddedTotals[rank] += paddedCost;
      sum += cost;
      paddedSum += paddedCost;
      most = Math.max(most, cost);
      mostPadded = Math.max(mostPadded, paddedCost);
      longest = Math.max(longest, batchLongest);
      count += size;
    }
    samples += count;
    stepPadded += (double) count * longest;
    slowest += most;
    slowestPadded += mostPadded;
    real[step] = ratio(most, sum);
    padded[step] = ratio(mostPadded, paddedSum);
    bound[step] = Math.max(1, ratio((double) longest, sum));
    if (bound[step] > 1) {
      bound[step] = ratio(leastOfTheSlowest(count, fewest), sum);
    }
  }

  /**
   * Returns the lowest possible cost of the slowest rank: the cost of the step's largest sample
   * and, since every rank has at least {@code fewest} samples, of the smallest ones.
   */
  private double leastOfTheSlowest(int count, int fewest) {
    Arrays.sort(stepCosts, 0, count);
    double least = stepCosts[count - 1];
    for (int i = 0; i < fewest - 1; i++) {
      least += stepCosts[i];
    }
    return least;
  }

  private double ratio(double largest, double sum) {
    return sum == 0 ? 1 : largest * ranks.length / sum;
  }

  private int readBatch(Cursors cursors, int step, int rank, int before) {
    int size = cursors.next(rank);
    if (stepCosts.length < before + size) {
      stepCosts = Arrays.copyOf(stepCosts, 2 * (before + size));
    }
    int batch = step * ranks.length + rank;
    batchCost = 0;
    batchLongest = 0;
    for (int i = 0; i < size; i++) {
      long index = requireCosts(indices[i], rank);
      long cost = costs.at(index);
      batchCost += cost;
      batchLongest = Math.max(batchLongest, cost);
      stepCosts[before + i] = cost;
      withCost.add(step, (double) cost);
      if (cursors.isPadding(rank, i)) {
        paddingSamples++;
      } else {
        batchOf[(int) index] = batch;
        batchSizes[batch]++;
        stepSizes[step]++;
      }
    }
    return size;
  }

  private long requireCosts(long index, int rank) {
    if (index < 0 || index >= costs.size()) {
      throw new IllegalArgumentException(
          "costs must have one cost for each index, got %d costs and index %d of rank %d"
              .formatted(costs.size(), index, rank));
    }
    return index;
  }

  private void readNext(long epoch, Again batchMates, Again stepMates) {
    int stepsOfNext = steps(epoch);
    int[] earlier = new int[indices.length];
    int[] earlierOfStep = new int[indices.length];
    try (Cursors cursors = new Cursors(epoch)) {
      for (int step = 0; step < stepsOfNext; step++) {
        int inStep = 0;
        for (int rank = 0; rank < ranks.length; rank++) {
          int size = cursors.next(rank);
          int count = 0;
          for (int i = 0; i < size; i++) {
            int batch = batchOf[(int) requireCosts(indices[i], rank)];
            if (batch >= 0 && !cursors.isPadding(rank, i)) {
              earlier[count++] = batch;
              int earlierStep = batch / ranks.length;
              betweenEpochs.add(earlierStep, step);
            }
          }
          batchMates.add(earlier, count);
          if (earlierOfStep.length < inStep + count) {
            earlierOfStep = Arrays.copyOf(earlierOfStep, 2 * (inStep + count));
          }
          for (int i = 0; i < count; i++) {
            earlierOfStep[inStep++] = earlier[i] / ranks.length;
          }
        }
        stepMates.add(earlierOfStep, inStep);
      }
    }
  }

  private static Imbalance imbalance(double[] ratios) {
    int count = ratios.length;
    if (count == 0) {
      return new Imbalance(1, 1, 1);
    }
    double[] sorted = ratios.clone();
    Arrays.sort(sorted);
    double at = 0.99 * (count - 1);
    int below = (int) at;
    int above = Math.min(count - 1, below + 1);
    double p99 = sorted[below] + (at - below) * (sorted[above] - sorted[below]);
    return new Imbalance(Arrays.stream(ratios).sum() / count, p99, sorted[count - 1]);
  }

  private static double spread(double[] totals) {
    double sum = Arrays.stream(totals).sum();
    double least = Arrays.stream(totals).min().orElse(0);
    double most = Arrays.stream(totals).max().orElse(0);
    return sum == 0 ? 0 : (most - least) * totals.length / sum;
  }

  /** The open cursors of all ranks. */
  private final class Cursors implements AutoCloseable {
    private final BatchCursor[] cursors = new BatchCursor[ranks.length];
    private int opened;
    private final long[] batch = new long[ranks.length];

    Cursors(long epoch) {
      try {
        for (BatchSampler rank : ranks) {
          cursors[opened++] = ResumableCursor.open(rank, epoch);
        }
      } catch (RuntimeException e) {
        opened--;
        close();
        throw e;
      }
    }

    int next(int rank) {
      batch[rank] = cursors[rank].position();
      return cursors[rank].next(indices, 0);
    }

    boolean isPadding(int rank, int element) {
      return cursors[rank].isPadding(batch[rank], element);
    }

    @Override
    public void close() {
      for (int rank = 0; rank < opened; rank++) {
        cursors[rank].close();
      }
    }
  }

  /**
   * The share of samples grouped together in one epoch that are grouped together again in the next.
   */
  private static final class Again {
    private final int[] sizes;
    private final int[] together;
    private double sum;
    private long count;

    /** Creates a tally for groups of the given sizes. */
    Again(int[] sizes) {
      this.sizes = sizes;
      together = new int[sizes.length];
    }

    /** Adds a group of the next epoch, given as the earlier groups of its members. */
    void add(int[] earlier, int members) {
      for (int i = 0; i < members; i++) {
        together[earlier[i]]++;
      }
      for (int i = 0; i < members; i++) {
        int mates = sizes[earlier[i]] - 1;
        long met = together[earlier[i]];
        together[earlier[i]] = 0;
        if (mates > 0) {
          sum += (double) met * (met - 1) / mates;
          count += met;
        }
      }
    }

    double share() {
      return count == 0 ? 0 : sum / count;
    }
  }

  /** Pearson's correlation of pairs, accumulated pair by pair. */
  private static final class Correlation {
    private double count;
    private double meanX;
    private double meanY;
    private double squaresX;
    private double squaresY;
    private double products;

    void add(double x, double y) {
      count++;
      double offX = x - meanX;
      double offY = y - meanY;
      meanX += offX / count;
      meanY += offY / count;
      squaresX += offX * (x - meanX);
      squaresY += offY * (y - meanY);
      products += offX * (y - meanY);
    }

    double value() {
      double scale = Math.sqrt(squaresX) * Math.sqrt(squaresY);
      return scale == 0 ? 0 : Math.max(-1, Math.min(1, products / scale));
    }
  }
}
