// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * The batches of all ranks, planned epoch by epoch; the epoch asked for last is kept. Any number of
 * threads may ask: one plans, the others wait.
 *
 * <p>A random order of the epoch is cut into windows, each of which is planned by itself: sorted
 * longest first (equal lengths in random order), shuffled inside of blocks of some batches so that
 * other samples meet in the next epoch, and cut by {@link TokenBudgetWindow}; the steps of a window
 * then come in random order, and so do the ranks inside of a step.
 */
final class TokenBudgetPlan {
  private static final int SMALLEST_WINDOW = 1 << 18;
  private static final int LARGEST_WINDOW = 1 << 20;
  private static final int STEPS_OF_A_WINDOW = 64;
  private static final int POSITION_BITS = 21;
  private static final long POSITION_MASK = (1L << POSITION_BITS) - 1;
  private static final int BATCHES_OF_A_BLOCK = 12;
  private static final double SPREAD_OF_A_BLOCK = 0.35;
  private static final long STREAM = 0x746F6B656E73L;

  private final Costs costs;
  private final int worldSize;
  private final long budget;
  private final int largestBatch;
  private final long seed;
  private final int windows;
  private long plannedEpoch;
  private @Nullable Epoch planned;

  TokenBudgetPlan(Costs costs, int worldSize, long budget, int largestBatch, long seed) {
    this.costs = costs;
    this.worldSize = worldSize;
    this.budget = budget;
    this.largestBatch = largestBatch;
    this.seed = seed;
    double sum = 0;
    for (int i = 0; i < costs.size(); i++) {
      sum += length(i);
    }
    double aBatch = Math.min(largestBatch, budget * (costs.size() / Math.max(1, sum)));
    double window =
        Math.min(LARGEST_WINDOW, Math.max(SMALLEST_WINDOW, aBatch * worldSize * STEPS_OF_A_WINDOW));
    windows = (int) Math.ceil(costs.size() / window);
  }

  synchronized Epoch epoch(long epoch) {
    Epoch result = planned;
    if (result == null || plannedEpoch != epoch) {
      planned = null;
      result = new Epoch(costs.size());
      plan(epoch, result);
      planned = result;
      plannedEpoch = epoch;
    }
    return result;
  }

  private void plan(long epoch, Epoch into) {
    if (costs.size() == 0) {
      return;
    }
    SeekablePermutation order = SeekablePermutation.of(costs.size(), seed, epoch);
    TokenBudgetWindow window = new TokenBudgetWindow(worldSize, budget, largestBatch);
    long key = CounterRandom.key(STREAM, seed, epoch);
    long[] keys = new long[0];
    int[] samples = new int[0];
    long[] lengths = new long[0];
    for (int w = 0; w < windows; w++) {
      SplitMix random = new SplitMix(Mix64.fold(key, w));
      int first = (int) ((long) costs.size() * w / windows);
      int count = (int) ((long) costs.size() * (w + 1) / windows) - first;
      if (keys.length < count) {
        keys = new long[count];
        samples = new int[count];
        lengths = new long[count];
      }
      for (int i = 0; i < count; i++) {
        samples[i] = (int) order.at(first + i);
        keys[i] = (Costs.LIMIT - 1 - length(samples[i])) << POSITION_BITS | i;
      }
      Arrays.sort(keys, 0, count);
      shuffleBlocks(keys, count, random);
      for (int i = 0; i < count; i++) {
        lengths[i] = lengthOf(keys[i]);
      }
      window.plan(lengths, count);
      into.add(window, keys, samples, random);
    }
  }

  /** The length that counts: a batch of nothing but empty samples has to end somewhere. */
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
      double aBatch = Math.min(largestBatch, (double) budget / longest);
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

  /** The batches of one epoch, step by step and rank by rank. Immutable once planned. */
  final class Epoch {
    private int[] indices;
    private int[] starts;
    private int batches;
    private final BitSet padding = new BitSet();

    private Epoch(int samples) {
      indices = new int[samples];
      starts = new int[16];
    }

    /** The number of batches of each rank. */
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
