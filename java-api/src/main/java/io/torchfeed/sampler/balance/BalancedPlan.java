// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import io.torchfeed.internal.CounterRandom;
import io.torchfeed.internal.Hash64;
import io.torchfeed.internal.HeapMemory;
import io.torchfeed.internal.WindowOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A plan of the rest of an epoch for a number of ranks: equal counts for each rank and each step.
 * Windows of steps are planned one at a time, on demand. Thread-safe.
 */
final class BalancedPlan {
  private static final long JITTER_SEED = 0x6A69747465720000L; // "jitter"
  private static final long GROUPS_SEED = 0x67726F757073L; // "groups"
  private static final long LAYERS_SEED = 0x6C6179657273L; // "layers"
  private static final int JITTER_BITS = 20;
  private static final int WINDOW_BITS = 20;

  private final BalanceOptions options;
  private final int worldSize;
  private final RemainingSamples rest;
  private final long epoch;
  private final int segment;
  private final long seed;
  private final int group;
  private final int window;
  private final long steps;
  private volatile @Nullable BalancedWindow latest; // often shared by the ranks of one process

  /**
   * Creates a plan.
   *
   * @param segment number of times the world size has changed in this epoch
   */
  BalancedPlan(
      BalanceOptions options, int worldSize, RemainingSamples rest, long epoch, int segment) {
    this.options = options;
    this.worldSize = worldSize;
    this.rest = rest;
    this.epoch = epoch;
    this.segment = segment;
    seed = options.seedOf(segment);
    group = options.group(worldSize);
    window = options.windowOf(rest.size(), worldSize);
    steps = options.steps(rest.size(), worldSize);
  }

  /** Returns the number of indices of each rank. */
  long size() {
    return steps * options.batchSize();
  }

  /** Returns the number of times the world size had changed in this epoch. */
  int segment() {
    return segment;
  }

  int worldSize() {
    return worldSize;
  }

  int batchSize() {
    return options.batchSize();
  }

  /** Returns the number of indices of each rank in a window, except the last one. */
  int windowSize() {
    return window * options.batchSize();
  }

  /** Returns whether a position lies past the end of the remaining samples. */
  boolean isPadding(long position) {
    return position >= rest.size();
  }

  /** Returns whether any position of a window is padding. */
  boolean hasPadding(long number) {
    return Math.min(steps, (number + 1) * window) * group > rest.size();
  }

  /** Returns the rest after each rank has delivered this many indices. */
  RemainingSamples after(long deliveredByEachRank) {
    long number = deliveredByEachRank / windowSize();
    int inWindow = (int) (deliveredByEachRank % windowSize());
    if (inWindow == 0) {
      return rest.after(new int[0], 0, Math.min(rest.size(), number * window * group));
    }
    BalancedWindow assigned = window(number);
    long first = assigned.firstPosition();
    long end = Math.min(rest.size(), first + assigned.size());
    int[] left = assigned.without(inWindow);
    int kept = 0;
    while (kept < left.length && first + left[kept] < end) {
      kept++;
    }
    return rest.after(Arrays.copyOf(left, kept), first, end);
  }

  /**
   * Returns a window, planned in O(window) time and memory unless it was the last one requested.
   */
  BalancedWindow window(long number) {
    BalancedWindow known = latest;
    if (known == null || known.number() != number) {
      known = HeapMemory.planned("a balanced plan", () -> plan(number));
      latest = known;
    }
    return known;
  }

  private BalancedWindow plan(long number) {
    long firstStep = number * window;
    int count = (int) Math.min(window, steps - firstStep);
    long first = firstStep * group;
    int[] samples = rest.samples(first, Math.multiplyExact(count, group));
    AssignedSteps groups = assigned(number, samples);
    int[] evened =
        hasPadding(number) && groups.unevenness() > 0
            ? evened(samples, (int) (rest.size() - first))
            : null;
    if (evened != null) {
      AssignedSteps others = assigned(number, evened);
      if (others.unevenness() < groups.unevenness()) {
        samples = evened;
        groups = others;
      }
    }
    int[] groupOfStep = shuffled(count, seed ^ GROUPS_SEED, windowSeed(number));
    return new BalancedWindow(number, groups, groupOfStep, firstStep, samples);
  }

  private long windowSeed(long number) {
    return (epoch << WINDOW_BITS) + number;
  }

  /** Assigns the samples of a window to groups, and each group's to shares. */
  private AssignedSteps assigned(long number, int[] samples) {
    Costs costs = Costs.computed(samples.length, i -> options.costs().at(samples[(int) i]));
    int[] members =
        options.grouping() == StepGrouping.BUCKETED
            ? jittered(costs, number * window * group)
            : layered(costs, samples.length / group, windowSeed(number));
    AssignedSteps groups = new AssignedSteps(worldSize, options.batchSize(), members, costs);
    groups.exchange();
    return groups;
  }

  /**
   * Returns the samples of a window with padding that keeps clusters of costs even; null if the
   * costs have no gap that matters.
   */
  private int @Nullable [] evened(int[] samples, int unpadded) {
    long[] costs = new long[unpadded];
    Arrays.setAll(costs, i -> options.costs().at(samples[i]));
    Arrays.sort(costs);
    EvenPadding padding =
        EvenPadding.of(costs, samples.length - unpadded, worldSize, options.batchSize());
    if (padding == null) {
      return null;
    }
    int[] evened = samples.clone();
    int end = unpadded;
    for (long from = rest.size(); end < evened.length; from += group) {
      for (int candidate : rest.samples(from, group)) {
        if (end < evened.length && padding.take(options.costs().at(candidate))) {
          evened[end++] = candidate;
        }
      }
    }
    return evened;
  }

  /**
   * Returns the positions sorted by cost, each cost changed by up to the jitter; consecutive
   * positions form a group.
   */
  private int[] jittered(Costs costs, long first) {
    long j = Math.round(options.jitter() * (1L << JITTER_BITS));
    if (j == 0) {
      return WindowOrder.sorted(costs.size(), costs.largest(), costs::at);
    }
    long epochKey = CounterRandom.key(JITTER_SEED, seed, epoch);
    return WindowOrder.sorted(
        costs.size(),
        costs.largest() * ((1L << JITTER_BITS) + j),
        i -> {
          long noise = Hash64.mix(epochKey + (first + i) * Hash64.GAMMA) >>> 32;
          return costs.at(i) * ((1L << JITTER_BITS) - j + ((noise * (2 * j + 1)) >>> 32));
        });
  }

  /** Returns groups of similar content, one after the other. */
  private int[] layered(Costs costs, int count, long windowSeed) {
    int[][] chunkOf = new int[options.batchSize()][];
    for (int layer = 0; layer < chunkOf.length; layer++) {
      long layerSeed = CounterRandom.seedOf(seed ^ LAYERS_SEED, layer);
      chunkOf[layer] = shuffled(count, layerSeed, windowSeed);
    }
    int[] byCost = WindowOrder.sorted(costs.size(), costs.largest(), costs::at);
    CostLayers layers = new CostLayers(byCost, worldSize, chunkOf, costs);
    layers.raise();
    return layers.members();
  }

  private static int[] shuffled(int count, long seed, long epoch) {
    return RemainingSamples.whole(count, seed, epoch).samples(0, count);
  }
}
