// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.training.GradientExchange;
import io.torchfeed.distributed.training.QAdam;
import java.util.Locale;

/** The ways in which gradients are sent. */
enum Comm {
  ALLREDUCE,
  FLOAT16,
  BFLOAT16,
  BYTEGRAD,
  POWERSGD,
  QADAM;

  private static final int WARMUP_STEPS = 100;
  private static final double SGD_RATE = 0.03;
  private static final double ADAM_RATE = 0.001;

  GradientExchange exchange() {
    return switch (this) {
      case ALLREDUCE -> GradientExchange.allReduce();
      case FLOAT16 -> GradientExchange.float16();
      case BFLOAT16 -> GradientExchange.bfloat16();
      case BYTEGRAD -> GradientExchange.byteGrad();
      // by default after 1000 steps, more than two epochs of two ranks
      case POWERSGD -> GradientExchange.powerSgd().withStartIteration(WARMUP_STEPS);
      case QADAM -> adam(ADAM_RATE).exchange();
    };
  }

  /** Returns the options of the optimizer that belongs to {@link #QADAM}. */
  static QAdam.Options adam(double learningRate) {
    return QAdam.Options.defaults().withLearningRate(learningRate).withWarmupSteps(WARMUP_STEPS);
  }

  /** Returns whether ranks on devices can send in this way. */
  boolean isOnDevices() {
    return this == ALLREDUCE || this == FLOAT16 || this == BFLOAT16;
  }

  double defaultLearningRate() {
    return this == QADAM ? ADAM_RATE : SGD_RATE;
  }

  /** Returns the name as an option has it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
