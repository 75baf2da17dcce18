// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import io.torchfeed.internal.CounterRandom;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Tail;

/** The parameters of a balanced order, apart from the ranks that share it. */
record BalanceOptions(
    Costs costs,
    int batchSize,
    StepGrouping grouping,
    int window,
    double jitter,
    long seed,
    Tail tail) {
  /** The maximum number of positions in a window. */
  private static final long MAX_POSITIONS = 1L << 30;

  private static final double MAX_JITTER = 0.5;

  BalanceOptions {
    jitter = Math.abs(jitter) == 0 ? 0 : jitter; // no -0.0 in the parameters
    if (batchSize < 1) {
      throw new IllegalArgumentException("batchSize must be at least 1, got " + batchSize);
    }
    if (window < 1) {
      throw new IllegalArgumentException("window must be at least 1, got " + window);
    }
    if (!(jitter >= 0 && jitter <= MAX_JITTER)) {
      throw new IllegalArgumentException(
          "jitter must be in [0, %s], got %s".formatted(MAX_JITTER, jitter));
    }
    if (tail == Tail.UNEVEN) {
      throw new IllegalArgumentException(
          "tail must be PAD or DROP, since all batches are of equal size, got UNEVEN");
    }
  }

  /**
   * Returns the seed of a segment's groups and jitter, so that another world size gets other steps.
   */
  long seedOf(int segment) {
    return segment == 0 ? seed : CounterRandom.seedOf(seed, segment);
  }

  /** Returns the number of steps that this many samples form. */
  long steps(long samples, int worldSize) {
    long group = group(worldSize);
    return tail == Tail.PAD ? (samples + group - 1) / group : samples / group;
  }

  /** Returns the number of samples in a step. */
  int group(int worldSize) {
    long group = (long) worldSize * batchSize;
    if (group > StepPartition.MAX_ITEMS) {
      throw new IllegalArgumentException(
          "worldSize * batchSize must be at most %d, got %d * %d"
              .formatted(StepPartition.MAX_ITEMS, worldSize, batchSize));
    }
    return (int) group;
  }

  /** Returns the number of steps that are planned together. */
  int windowOf(long samples, int worldSize) {
    long steps = Math.min(window, Math.max(1, steps(samples, worldSize)));
    if (steps * group(worldSize) > MAX_POSITIONS) {
      throw new IllegalArgumentException(
          "window * worldSize * batchSize must be at most %d, got %d * %d * %d; lower window"
              .formatted(MAX_POSITIONS, window, worldSize, batchSize));
    }
    return (int) steps;
  }

  /** Returns the parameters; the last entries name the rules by which samples are distributed. */
  PlanParameters parameters() {
    PlanParameters parameters =
        PlanParameters.of("torchfeed.LoadBalancingDistributedSampler")
            .with("datasetSize", costs.size())
            .with("costs", costs.digest())
            .with("batchSize", batchSize)
            .with("grouping", grouping)
            .with("dealing", "LARGEST_FIRST")
            .with("window", window)
            .with("jitter", jitter)
            .with("seed", seed)
            .with("tail", tail);
    return tail == Tail.PAD ? parameters.with("padding", "EVEN") : parameters;
  }
}
