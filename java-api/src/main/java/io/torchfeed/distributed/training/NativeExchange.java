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
      PowerSgd.Options own = powerSgd.options();
      return options
          .kind(ExchangeOptions.kPowerSgd)
          .matrix_rank(own.matrixApproximationRank())
          .warmup_steps(own.startIteration())
          .min_compression_rate(own.minCompressionRate())
          .error_feedback(own.errorFeedback())
          .warm_start(own.warmStart())
          .orthogonalization_epsilon(own.orthogonalizationEpsilon())
          .batch_same_shapes(own.batchTensorsWithSameShape())
          .seed(own.randomSeed());
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
