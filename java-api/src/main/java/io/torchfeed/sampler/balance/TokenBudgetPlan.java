// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import io.torchfeed.internal.CounterRandom;
import io.torchfeed.internal.Hash64;
import io.torchfeed.internal.RadixSort;
import io.torchfeed.internal.SplitMix;
import io.torchfeed.sampler.cursor.EpochProgress;
import java.util.Arrays;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * The batches of all ranks, planned epoch by epoch; the epoch requested last is kept. Thread-safe:
 * one thread plans, the others wait.
 *
 * <p>A random order of the epoch is cut into windows, each of which is planned by itself: sorted
 * longest first (equal lengths in random order), shuffled within blocks of several batches so that
 * batches are grouped differently in the next epoch, and cut by {@link TokenBudgetWindow}; the
 * steps of a window then come in random order, and so do the ranks within a step.
 */
final class TokenBudgetPlan {
  private static final int MIN_WINDOW = 1 << 18;
  private static final int MAX_WINDOW = 1 << 20;
  private static final int STEPS_OF_A_WINDOW = 64;
  private static final int POSITION_BITS = 21;
  private static final long POSITION_MASK = (1L << POSITION_BITS) - 1;
  private static final int BATCHES_OF_A_BLOCK = 12;
  private static final double SPREAD_OF_A_BLOCK = 0.35;
  private static final long STREAM = 0x746F6B656E73L;

  private final Costs costs;
  private final int worldSize;
  private final long budget;
  private final int maxBatchSize;
  private final long seed;
  private final double length; // of all samples
  private final double window; // approximate number of samples
  private long plannedEpoch;
  private @Nullable Epoch planned;

  private TokenBudgetPlan(
      Costs costs, int worldSize, long budget, int maxBatchSize, long seed, double length) {
    this.costs = costs;
    this.worldSize = worldSize;
    this.budget = budget;
    this.maxBatchSize = maxBatchSize;
    this.seed = seed;
    this.length = length;
    double aBatch = Math.min(maxBatchSize, budget * (costs.size() / Math.max(1, length)));
    window = Math.min(MAX_WINDOW, Math.max(MIN_WINDOW, aBatch * worldSize * STEPS_OF_A_WINDOW));
  }

  /** Returns a plan for costs of at most the budget, with seed 0. */
  static TokenBudgetPlan of(Costs costs, int worldSize, long budget) {
    double length = 0;
    for (int i = 0; i < costs.size(); i++) {
      length += Math.max(1, costs.at(i));
    }
    int maxBatchSize = maxBatchSize(costs, budget, Integer.MAX_VALUE);
    return new TokenBudgetPlan(costs, worldSize, budget, maxBatchSize, 0, length);
  }

  private static int maxBatchSize(Costs costs, long budget, int maxSamples) {
    long shortest = Math.max(1, costs.smallest());
    long most = Math.min(budget / shortest, Math.max(1, costs.size()));
    return (int) Math.min(most, maxSamples);
  }

  TokenBudgetPlan withSeed(long newSeed) {
    return new TokenBudgetPlan(costs, worldSize, budget, maxBatchSize, newSeed, length);
  }

  TokenBudgetPlan withMaxSamples(int maxSamples) {
    return new TokenBudgetPlan(
        costs, worldSize, budget, maxBatchSize(costs, budget, maxSamples), seed, length);
  }

  int maxBatchSize() {
    return maxBatchSize;
  }

  /** Returns the division of an epoch, and of its rest, over any number of ranks. */
  EpochProgress.Division<Epoch> division(long epoch) {
    return new EpochProgress.Division<>() {
      @Override
      public Epoch begin(int ranks) {
        return plan(ranks).epoch(epoch);
      }

      @Override
      public Epoch divideRest(Epoch part, long delivered, int ranks) {
        return plan(ranks).rest(epoch, part, (int) delivered);
      }

      @Override
      public long size(Epoch part) {
        return part.steps();
      }
    };
  }

  private TokenBudgetPlan plan(int ranks) {
    return ranks == worldSize
        ? this
        : new TokenBudgetPlan(costs, ranks, budget, maxBatchSize, seed, length);
  }

  synchronized Epoch epoch(long epoch) {
    Epoch result = planned;
    if (result == null || plannedEpoch != epoch) {
      planned = null;
      RemainingSamples order = RemainingSamples.whole(costs.size(), seed, epoch);
      result = plan(epoch, order::samples, costs.size(), 0);
      planned = result;
      plannedEpoch = epoch;
    }
    return result;
  }

  /** Plans the rest of an epoch after some steps, for the ranks of this plan. */
  private Epoch rest(long epoch, Epoch part, int deliveredSteps) {
    int[] left = part.samplesFrom(deliveredSteps);
    int segment = part.segment + 1;
    return plan(
        epoch, (first, count) -> copyOfRange(left, (int) first, count), left.length, segment);
  }

  private static int[] copyOfRange(int[] samples, int first, int count) {
    return Arrays.copyOfRange(samples, first, first + count);
  }

  /** A random order of samples. */
  private interface Order {
    int[] samples(long first, int count);
  }

  /**
   * Plans {@code size} samples.
   *
   * @param segment how often the number of ranks has changed in this epoch
   */
  private Epoch plan(long epoch, Order order, int size, int segment) {
    Epoch into = new Epoch(worldSize, size, segment);
    TokenBudgetWindow cutter = new TokenBudgetWindow(worldSize, budget, maxBatchSize);
    long segmentSeed = segment == 0 ? seed : CounterRandom.seedOf(seed, segment);
    long key = CounterRandom.key(STREAM, segmentSeed, epoch);
    long[] keys = new long[0];
    long[] lengths = new long[0];
    int windows = (int) Math.ceil(size / window);
    for (int w = 0; w < windows; w++) {
      SplitMix random = new SplitMix(Hash64.fold(key, w));
      int first = (int) ((long) size * w / windows);
      int count = (int) ((long) size * (w + 1) / windows) - first;
      if (keys.length < count) {
        keys = new long[count];
        lengths = new long[count];
      }
      int[] samples = order.samples(first, count);
      for (int i = 0; i < count; i++) {
        keys[i] = (Costs.LIMIT - 1 - length(samples[i])) << POSITION_BITS | i;
      }
      RadixSort.sort(keys, count, POSITION_BITS, Long.SIZE - 1);
      shuffleBlocks(keys, count, random);
      for (int i = 0; i < count; i++) {
        lengths[i] = lengthOf(keys[i]);
      }
      cutter.plan(lengths, count);
      into.add(cutter, keys, samples, random);
    }
    return into;
  }

  /**
   * Returns the length that counts, at least 1: a batch of only empty samples has to end somewhere.
   */
  private long length(long index) {
    return Math.max(1, costs.at(index));
  }

  private static long lengthOf(long key) {
    return Costs.LIMIT - 1 - (key >>> POSITION_BITS);
  }

  private void shuffleBlocks(long[] keys, int count, SplitMix random) {
    double share = random.nextDouble();
    for (int start = 0; start < count; ) {
      long longest = lengthOf(keys[start]);
      double aBatch = Math.min(maxBatchSize, (double) budget / longest);
      int most = (int) Math.min(count - start, 1 + BATCHES_OF_A_BLOCK * aBatch * share);
      double shortest = longest * (1 - SPREAD_OF_A_BLOCK);
      int end = start + 1;
      while (end < start + most && lengthOf(keys[end]) >= shortest) {
        end++;
      }
      for (int i = end - 1; i > start; i--) {
        int j = start + (int) random.nextBelow(i - start + 1);
        long swapped = keys[i];
        keys[i] = keys[j];
        keys[j] = swapped;
      }
      start = end;
      share = 1;
    }
  }

  /**
   * The batches of one epoch, or of the rest of one, step by step and rank by rank. Immutable once
   * planned.
   */
  static final class Epoch {
    private final int worldSize;
    private final int segment;
    private int[] indices;
    private int[] starts;
    private int batches;
    private final BitSet padding = new BitSet();

    private Epoch(int worldSize, int samples, int segment) {
      this.worldSize = worldSize;
      this.segment = segment;
      indices = new int[samples];
      starts = new int[16];
    }

    /** Returns the number of batches of each rank. */
    int steps() {
      return batches / worldSize;
    }

    int size(int step, int rank) {
      int batch = step * worldSize + rank;
      return starts[batch + 1] - starts[batch];
    }

    void read(int step, int rank, long[] into, int from) {
      int batch = step * worldSize + rank;
      for (int i = starts[batch]; i < starts[batch + 1]; i++) {
        into[from + i - starts[batch]] = indices[i];
      }
    }

    boolean isPadding(int step, int rank, int element) {
      return padding.get(starts[step * worldSize + rank] + element);
    }

    /**
     * Returns the samples of the steps from {@code step} on, without padding, in the order of the
     * steps.
     */
    private int[] samplesFrom(int step) {
      int first = starts[step * worldSize];
      int end = starts[batches];
      int[] samples = new int[end - first - padding.get(first, end).cardinality()];
      int count = 0;
      for (int i = first; i < end; i++) {
        if (!padding.get(i)) {
          samples[count++] = indices[i];
        }
      }
      return samples;
    }

    private void add(TokenBudgetWindow window, long[] keys, int[] samples, SplitMix random) {
      int[] byStep = window.batchesByStep();
      makeRoom(byStep.length, starts[batches] + window.start(byStep.length));
      for (int step : shuffled(window.steps(), random)) {
        for (int place : shuffled(worldSize, random)) {
          int batch = byStep[step * worldSize + place];
          int at = starts[batches];
          for (int i = window.start(batch); i < window.start(batch + 1); i++) {
            if (window.isRepeated(i)) {
              padding.set(at);
            }
            indices[at++] = samples[(int) (keys[window.sampleAt(i)] & POSITION_MASK)];
          }
          starts[++batches] = at;
        }
      }
    }

    private void makeRoom(int moreBatches, int samplesInAll) {
      if (samplesInAll > indices.length) {
        indices = Arrays.copyOf(indices, samplesInAll);
      }
      int wanted = batches + moreBatches + 1;
      if (wanted > starts.length) {
        starts = Arrays.copyOf(starts, Math.max(wanted, starts.length + starts.length / 2));
      }
    }

    private static int[] shuffled(int count, SplitMix random) {
      int[] order = new int[count];
      for (int i = 0; i < count; i++) {
        int j = (int) random.nextBelow(i + 1);
        order[i] = order[j];
        order[j] = i;
      }
      return order;
    }
  }
}
