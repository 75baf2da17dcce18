// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.training.AveragingAlgorithm;
import io.torchfeed.examples.common.CommandException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import picocli.CommandLine.TypeConversionException;

/** The ways in which ranks train together. */
enum Algorithm {
  /** Averages gradients. */
  ALLREDUCE,
  DECENTRALIZED,
  SHIFT_ONE,
  LOW_PRECISION,
  ASYNC,
  POST_LOCAL;

  private static final Duration PAUSE = Duration.ofMillis(100);
  private static final int WARMUP_STEPS = 100;
  private static final int PERIOD = 4;

  /** Returns the algorithm that exchanges weights; there is none for {@link #ALLREDUCE}. */
  AveragingAlgorithm averaging() {
    return switch (this) {
      case ALLREDUCE -> throw new IllegalStateException("gradients are averaged");
      case DECENTRALIZED -> AveragingAlgorithm.decentralized();
      case SHIFT_ONE -> AveragingAlgorithm.shiftOne();
      case LOW_PRECISION -> AveragingAlgorithm.lowPrecision();
      case ASYNC -> AveragingAlgorithm.asynchronous(PAUSE).withWarmup(WARMUP_STEPS);
      case POST_LOCAL -> AveragingAlgorithm.postLocal(WARMUP_STEPS, PERIOD);
    };
  }

  /**
   * Throws if this many ranks cannot train in this way.
   *
   * @param name the option that sets the number
   */
  void requireRanks(String name, int ranks) {
    if (this == SHIFT_ONE && ranks % 2 != 0) {
      throw CommandException.wrongUse(
          "--algorithm " + this + " pairs the ranks, so " + name + " must be even, got " + ranks);
    }
  }

  /**
   * Returns the algorithm of a name.
   *
   * @throws TypeConversionException if there is none
   */
  static Algorithm of(String name) {
    for (Algorithm algorithm : values()) {
      if (algorithm.toString().equals(name)) {
        return algorithm;
      }
    }
    throw new TypeConversionException(
        "must be one of " + Arrays.toString(values()) + ", got " + name);
  }

  /** Returns the name as an option has it, for example {@code shift-one}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
