// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** What a balanced order depends on, apart from the ranks that it is dealt to. */
record BalanceOptions(
    Costs costs,
    int batchSize,
    Grouping grouping,
    StepDealing dealing,
    int window,
    double jitter,
    long seed,
    Tail tail) {
  /** The most positions of a window. */
  private static final long MOST_POSITIONS = 1L << 30;

  private static final double MOST_JITTER = 0.5;

  BalanceOptions {
    jitter = Math.abs(jitter) == 0 ? 0 : jitter; // no -0.0 in the parameters
    if (batchSize < 1) {
      throw new IllegalArgumentException("batchSize must be at least 1, got " + batchSize);
    }
    if (window < 1) {
      throw new IllegalArgumentException("window must be at least 1, got " + window);
    }
    if (!(jitter >= 0 && jitter <= MOST_JITTER)) {
      throw new IllegalArgumentException(
          "jitter must be in [0, %s], got %s".formatted(MOST_JITTER, jitter));
    }
    if (tail == Tail.UNEVEN) {
      throw new IllegalArgumentException(
          "tail must be PAD or DROP, since all batches are of equal size, got UNEVEN");
    }
  }

  /** The seed of a segment's groups and jitter: other ranks get other steps. */
  long seedOf(int segment) {
    return segment == 0 ? seed : CounterRandom.seedOf(seed, segment);
  }

  /** The number of steps that so many samples make. */
  long steps(long samples, int worldSize) {
    long group = group(worldSize);
    return tail == Tail.PAD ? (samples + group - 1) / group : samples / group;
  }

  /** The number of samples of a step. */
  int group(int worldSize) {
    long group = (long) worldSize * batchSize;
    if (group > StepPartition.MOST_ITEMS) {
      throw new IllegalArgumentException(
          "worldSize * batchSize must be at most %d, got %d * %d"
              .formatted(StepPartition.MOST_ITEMS, worldSize, batchSize));
    }
    return (int) group;
  }

  /** The number of steps that are planned together. */
  int windowOf(long samples, int worldSize) {
    long steps = Math.min(window, Math.max(1, steps(samples, worldSize)));
    if (steps * group(worldSize) > MOST_POSITIONS) {
      throw new IllegalArgumentException(
          "window * worldSize * batchSize must be at most %d, got %d * %d * %d; lower window"
              .formatted(MOST_POSITIONS, window, worldSize, batchSize));
    }
    return (int) steps;
  }

  PlanParameters parameters() {
    return PlanParameters.of("torchfeed.LoadBalancingDistributedSampler")
        .with("datasetSize", costs.size())
        .with("costs", costs.digest())
        .with("batchSize", batchSize)
        .with("grouping", grouping)
        .with("dealing", dealing)
        .with("window", window)
        .with("jitter", jitter)
        .with("seed", seed)
        .with("tail", tail);
  }
}
