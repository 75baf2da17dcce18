// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import java.util.Arrays;

/**
 * A planner that cuts samples, roughly longest first, into steps of one batch per rank, so that the
 * padded costs (count times longest) within a step are similar and none exceeds a budget. Reuse for
 * many windows allocates little. Not thread-safe.
 *
 * <p>Every batch is a run of neighbours, so only the cuts have to be chosen. Long samples fill a
 * batch in coarse grains, short ones in fine grains. The longest samples are cut first, each batch
 * up to a ceiling, and the batches sorted by cost; runs of similar batches become the first batches
 * of a step and set its target. Each batch of shorter samples then goes to the step that it fills
 * best. The ceiling is the lowest at which no sample is left over. Places that still remain are
 * filled by cutting the shortest samples again, evenly, into whole steps.
 */
final class TokenBudgetWindow {
  /** The maximum number of samples in a window. */
  static final int MAX_SAMPLES = 1 << 21;

  private static final int BATCH_BITS = 21;
  private static final int BATCH_MASK = (1 << BATCH_BITS) - 1;
  private static final int MAX_LEVELS = 128;
  private static final int HALVINGS = 10;
  private static final int FINE_COUNT = 48;
  private static final double MAX_COARSE = 0.75;

  /** The fit of the samples to the steps. */
  private enum Fit {
    LEFT_OVER,
    GOOD,
    USED_UP
  }

  private final int worldSize;
  private final long budget;
  private final int maxBatchSize;
  private final long[] targets = new long[MAX_LEVELS];
  private final int[] open = new int[MAX_LEVELS];
  private int levelCount;
  private int bestCount;
  private int bestLevel;

  private long[] lengths = new long[0];
  private int samples;
  private int unrepeated;
  private int steps;
  private int[] starts = new int[1];
  private long[] costs = new long[0];
  private int formed;
  private int coarse;
  private int regular;

  /** Creates a planner of windows; the largest batch is at least 1. */
  TokenBudgetWindow(int worldSize, long budget, int maxBatchSize) {
    this.worldSize = worldSize;
    this.budget = budget;
    this.maxBatchSize = maxBatchSize;
  }

  /**
   * Plans a window. If even batches of one sample do not fill the steps, the shortest samples are
   * repeated.
   *
   * @param lengths the lengths of the samples, roughly longest first, from 1 to the budget
   * @param samples the number of samples, from 1 to {@link #MAX_SAMPLES}
   */
  void plan(long[] lengths, int samples) {
    this.lengths = lengths;
    this.samples = samples;
    unrepeated = samples;
    steps = (batchesUpTo(budget) + worldSize - 1) / worldSize;
    repeatShortest();
    while (!planSteps()) {
      steps += 1 + steps / 64;
    }
    cutRestEvenly();
  }

  int steps() {
    return steps;
  }

  /** Returns the sample at a place in the cuts; repeated samples come after all others. */
  int sampleAt(int place) {
    return isRepeated(place) ? unrepeated - 1 - (place - unrepeated) % unrepeated : place;
  }

  boolean isRepeated(int place) {
    return place >= unrepeated;
  }

  /** Returns the start of batch {@code i}; for the batch after the last, the end. */
  int start(int i) {
    return starts[i];
  }

  /** Returns the numbers of the batches, with each step's next to each other. */
  int[] batchesByStep() {
    long[] order = byCost(formed);
    int[] byStep = new int[formed];
    for (int i = 0; i < formed; i++) {
      byStep[i] = (int) (order[i] & BATCH_MASK);
    }
    return byStep;
  }

  private long[] byCost(int batches) {
    long[] order = new long[batches];
    for (int i = 0; i < batches; i++) {
      order[i] = costs[i] << BATCH_BITS | i;
    }
    Arrays.sort(order);
    return order;
  }

  private void repeatShortest() {
    int places = steps * worldSize;
    if (places > samples) {
      samples = places;
      lengths = Arrays.copyOf(lengths, places);
      for (int place = unrepeated; place < places; place++) {
        lengths[place] = lengths[sampleAt(place)];
      }
    }
  }

  /** Plans with the fewest spare steps that suffice; returns false if there are too few steps. */
  private boolean planSteps() {
    for (int spare = 1; ; spare = Math.min(steps, 2 * spare)) {
      regular = (steps - spare) * worldSize;
      boolean fits = fill(budget) != Fit.LEFT_OVER;
      if (!fits && (steps + 1) * worldSize <= samples) {
        return false;
      }
      if (fits && fill(lowestCeiling()) == Fit.GOOD) {
        return true;
      }
    }
  }

  private long lowestCeiling() {
    long tooLow = lengths[0] - 1;
    long enough = budget;
    for (int i = 0; i < HALVINGS && enough - tooLow > 1; i++) {
      long middle = (tooLow + enough) >>> 1;
      if (fill(middle) == Fit.LEFT_OVER) {
        tooLow = middle;
      } else {
        enough = middle;
      }
    }
    return enough;
  }

  private int batchesUpTo(long limit) {
    int batches = 0;
    for (int at = 0; at < samples; at += count(at, limit)) {
      batches++;
    }
    return batches;
  }

  /**
   * Returns the number of samples from {@code at} on in a batch whose padded cost is at most the
   * limit.
   */
  private int count(int at, long limit) {
    long longest = 0;
    int most = Math.min(maxBatchSize, samples - at);
    for (int count = 0; count < most; count++) {
      longest = Math.max(longest, lengths[at + count]);
      if ((count + 1) * longest > limit) {
        return count;
      }
    }
    return most;
  }

  /** Cuts the regular steps and reports the rest for the spare ones. */
  private Fit fill(long ceiling) {
    int places = steps * worldSize;
    if (costs.length < places) {
      costs = new long[places];
      starts = new int[places + 1];
    }
    formed = 0;
    if (!cutCoarse(ceiling, (int) (regular * MAX_COARSE))) {
      return Fit.LEFT_OVER;
    }
    setTargets(ceiling);
    int at = starts[formed];
    while (formed < regular && at < samples) {
      fitBest(at);
      if (bestCount == 0) {
        return Fit.LEFT_OVER;
      }
      add(at, bestCount);
      at += bestCount;
      if (--open[bestLevel] == 0) {
        close(bestLevel);
      }
    }
    if (samples - at < places - regular) {
      return Fit.USED_UP;
    }
    return cut(places, ceiling, ceiling) ? Fit.GOOD : Fit.LEFT_OVER;
  }

  private boolean cutCoarse(long ceiling, int most) {
    int at = 0;
    starts[0] = 0;
    while (formed < most && at < samples) {
      int count = count(at, ceiling);
      if (count == 0) {
        return false;
      }
      if (count >= FINE_COUNT) {
        break;
      }
      add(at, count);
      at += count;
    }
    coarse = formed;
    return true;
  }

  /**
   * Assigns each run of similar coarse batches to a step, and the same target to its free places.
   */
  private void setTargets(long ceiling) {
    long[] order = byCost(coarse);
    int steps = regular / worldSize;
    double spread = leastSpread(order, steps);
    int stepsOfALevel = (steps + MAX_LEVELS - 1) / MAX_LEVELS;
    levelCount = 0;
    int end = coarse;
    for (int step = 0; step < steps; step++) {
      long target = end > 0 ? order[end - 1] >>> BATCH_BITS : ceiling;
      int start = startOfStep(order, end, spread);
      if (step % stepsOfALevel == 0) {
        targets[levelCount] = target;
        open[levelCount++] = 0;
      }
      open[levelCount - 1] += worldSize - (end - start);
      end = start;
    }
    sortOpenLevels();
  }

  /**
   * Returns the smallest spread, relative to a step's target, that lets the steps hold all batches.
   */
  private double leastSpread(long[] order, int steps) {
    double tooLittle = 0;
    double enough = 1;
    for (int i = 0; i < HALVINGS; i++) {
      double middle = (tooLittle + enough) / 2;
      int end = order.length;
      for (int step = 0; step < steps; step++) {
        end = startOfStep(order, end, middle);
      }
      if (end == 0) {
        enough = middle;
      } else {
        tooLittle = middle;
      }
    }
    return enough;
  }

  private int startOfStep(long[] order, int end, double spread) {
    int start = end;
    if (end > 0) {
      double least = (order[end - 1] >>> BATCH_BITS) * (1 - spread);
      while (start > 0 && end - start < worldSize && order[start - 1] >>> BATCH_BITS >= least) {
        start--;
      }
    }
    return start;
  }

  private void sortOpenLevels() {
    int kept = 0;
    for (int level = 0; level < levelCount; level++) {
      if (open[level] > 0) {
        long target = targets[level];
        int places = open[level];
        int at = kept++;
        for (; at > 0 && targets[at - 1] > target; at--) {
          targets[at] = targets[at - 1];
          open[at] = open[at - 1];
        }
        targets[at] = target;
        open[at] = places;
      }
    }
    levelCount = kept;
  }

  private void close(int level) {
    levelCount--;
    System.arraycopy(targets, level + 1, targets, level, levelCount - level);
    System.arraycopy(open, level + 1, open, level, levelCount - level);
  }

  /** Finds the open target that a batch from {@code at} on misses by the smallest share. */
  private void fitBest(int at) {
    bestCount = 0;
    double bestShare = 0;
    int most = Math.min(maxBatchSize, samples - at);
    long longest = 0;
    long cost = 0;
    int level = 0;
    for (int count = 0; level < levelCount; count++) {
      long larger = Long.MAX_VALUE;
      if (count < most) {
        longest = Math.max(longest, lengths[at + count]);
        larger = (count + 1) * longest;
      }
      for (; level < levelCount && targets[level] < larger; level++) {
        double share = (double) cost / targets[level];
        if (count > 0 && share >= bestShare) {
          bestShare = share;
          bestCount = count;
          bestLevel = level;
        }
      }
      cost = larger;
    }
  }

  private void add(int at, int count) {
    long longest = 0;
    for (int i = at; i < at + count; i++) {
      longest = Math.max(longest, lengths[i]);
    }
    costs[formed++] = count * longest;
    starts[formed] = at + count;
  }

  /**
   * Cuts the samples that the regular steps left into the batches of the spare steps, all up to one
   * limit.
   */
  private void cutRestEvenly() {
    int places = steps * worldSize;
    long tooLow = 0;
    long enough = budget;
    while (enough - tooLow > 1) {
      long middle = (tooLow + enough) >>> 1;
      if (cut(places, middle, middle)) {
        enough = middle;
      } else {
        tooLow = middle;
      }
    }
    int low = regular;
    int high = places;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (cut(middle, tooLow, enough)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    cut(low, tooLow, enough);
  }

  /**
   * Cuts the spare batches up to one limit before batch {@code turn}, and up to another from it on.
   */
  private boolean cut(int turn, long limit, long limitFromTurn) {
    int places = steps * worldSize;
    formed = regular;
    int at = starts[regular];
    while (formed < places) {
      int fitting = count(at, formed < turn ? limit : limitFromTurn);
      int count = Math.min(Math.max(1, fitting), samples - at - (places - formed - 1));
      add(at, count);
      at += count;
    }
    return at == samples;
  }
}
