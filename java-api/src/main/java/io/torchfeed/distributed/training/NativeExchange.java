// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import io.torchfeed.bindings.ExchangeOptions;
import io.torchfeed.distributed.training.GradientExchange.Mean;
import io.torchfeed.distributed.training.GradientExchange.Momenta;

/** The native options of an exchange of gradients. */
final class NativeExchange {
  private NativeExchange() {}

  /** Returns the options; owned by the caller's pointer scope. */
  static ExchangeOptions of(GradientExchange exchange) {
    ExchangeOptions options = new ExchangeOptions().ranks_per_node(exchange.ranksPerNode());
    if (exchange instanceof PowerSgd powerSgd) {
      return options
          .kind(ExchangeOptions.kPowerSgd)
          .matrix_rank(powerSgd.matrixApproximationRank())
          .warmup_steps(powerSgd.startIteration())
          .min_compression_rate(powerSgd.minCompressionRate())
          .error_feedback(powerSgd.errorFeedback())
          .warm_start(powerSgd.warmStart())
          .orthogonalization_epsilon(powerSgd.orthogonalizationEpsilon())
          .batch_same_shapes(powerSgd.batchTensorsWithSameShape())
          .seed(powerSgd.randomSeed());
    }
    if (exchange instanceof Momenta momenta) {
      return options
          .kind(ExchangeOptions.kQAdam)
          .warmup_steps(momenta.warmupSteps())
          .beta1(momenta.beta1());
    }
    return options.kind(kind((Mean) exchange));
  }

  private static int kind(Mean mean) {
    return switch (mean.format()) {
      case PLAIN -> ExchangeOptions.kAllReduce;
      case FLOAT16 -> ExchangeOptions.kFloat16;
      case BFLOAT16 -> ExchangeOptions.kBFloat16;
      case BYTE_GRAD -> ExchangeOptions.kByteGrad;
    };
  }

  /** Throws unless an option of an exchange is in its range. */
  static void require(boolean holds, String message) {
    if (!holds) {
      throw new IllegalArgumentException(message);
    }
  }

  /** Throws unless the nodes of an exchange divide the ranks. */
  static void requireFits(GradientExchange exchange, int ranks) {
    if (ranks % exchange.ranksPerNode() != 0) {
      throw new IllegalArgumentException(
          "ranksPerNode must be a divisor of the number of ranks, %d, got %d"
              .formatted(ranks, exchange.ranksPerNode()));
    }
  }
}
