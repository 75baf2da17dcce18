// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What is left of an epoch, planned for a number of ranks: equal counts for each rank and each
 * step. Windows of steps are planned one at a time, when asked for. Any number of threads may ask.
 */
final class BalancedPlan {
  private static final long JITTER_SEED = 0x6A69747465720000L; // "jitter"
  private static final long GROUPS_SEED = 0x67726F757073L; // "groups"
  private static final long LAYERS_SEED = 0x6C6179657273L; // "layers"
  private static final int JITTER_BITS = 20;
  private static final int WINDOW_BITS = 20;

  private final BalanceOptions options;
  private final int worldSize;
  private final RestOfEpoch rest;
  private final long epoch;
  private final int segment;
  private final long seed;
  private final int group;
  private final int window;
  private final long steps;
  private volatile @Nullable BalancedWindow latest; // the ranks of one process often read the same

  /**
   * A plan.
   *
   * @param segment how often the number of ranks has changed in this epoch
   */
  BalancedPlan(BalanceOptions options, int worldSize, RestOfEpoch rest, long epoch, int segment) {
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

  /** The number of indices of each rank. */
  long size() {
    return steps * options.batchSize();
  }

  /** How often the number of ranks had changed in this epoch. */
  int segment() {
    return segment;
  }

  int worldSize() {
    return worldSize;
  }

  int batchSize() {
    return options.batchSize();
  }

  /** The number of indices of each rank in a window, except the last one. */
  int windowSize() {
    return window * options.batchSize();
  }

  /** Whether a position of what is left lies behind its end. */
  boolean isPadding(long position) {
    return position >= rest.size();
  }

  /** Whether positions of a window are padding. */
  boolean hasPadding(long number) {
    return Math.min(steps, (number + 1) * window) * group > rest.size();
  }

  /** What is left when each rank has delivered so many indices. */
  RestOfEpoch after(long deliveredByEachRank) {
    long number = deliveredByEachRank / windowSize();
    int inWindow = (int) (deliveredByEachRank % windowSize());
    if (inWindow == 0) {
      return rest.after(new int[0], 0, Math.min(rest.size(), number * window * group));
    }
    BalancedWindow dealt = window(number);
    long first = dealt.firstPosition();
    long end = Math.min(rest.size(), first + dealt.size());
    int[] left = dealt.without(inWindow);
    int kept = 0;
    while (kept < left.length && first + left[kept] < end) {
      kept++;
    }
    return rest.after(Arrays.copyOf(left, kept), first, end);
  }

  /** A window, planned in O(window) time and memory unless it was the last one asked for. */
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
    Costs costs = Costs.computed(samples.length, i -> options.costs().at(samples[(int) i]));
    long windowSeed = (epoch << WINDOW_BITS) + number;
    int[] members =
        options.grouping() == Grouping.BUCKETED
            ? jittered(costs, first)
            : layered(costs, count, windowSeed);
    DealtGroups groups =
        new DealtGroups(worldSize, options.batchSize(), members, options.dealing(), costs);
    groups.exchange();
    int[] groupOfStep = shuffled(count, seed ^ GROUPS_SEED, windowSeed);
    return new BalancedWindow(number, groups, groupOfStep, firstStep, samples);
  }

  /** Positions by cost, each cost moved by up to the jitter: consecutive ones make a group. */
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
          long noise = Mix64.mix(epochKey + (first + i) * Mix64.GAMMA) >>> 32;
          return costs.at(i) * ((1L << JITTER_BITS) - j + ((noise * (2 * j + 1)) >>> 32));
        });
  }

  /** Groups of alike content. */
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
    return RestOfEpoch.whole(count, seed, epoch).samples(0, count);
  }
}
