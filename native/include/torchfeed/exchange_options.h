// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "torchfeed/export.h"

namespace torchfeed {

/// The way in which gradients travel between the ranks; compared between the ranks.
struct TORCHFEED_API ExchangeOptions {
  enum Kind : int { kAllReduce, kFloat16, kBFloat16, kByteGrad, kPowerSgd, kQAdam, kKindCount };

  int kind = kAllReduce;
  /// The consecutive ranks that form a node. If more than 1, gradients are summed within each node,
  /// exchanged in this way between the nodes' first ranks, and copied to the others.
  int64_t ranks_per_node = 1;
  /// With PowerSGD and QAdam, how many backward passes exchange whole gradients before the first
  /// one that does not.
  int64_t warmup_steps = 0;

  /// With PowerSGD, the rank of the matrices that approximate gradients.
  int64_t matrix_rank = 1;
  double min_compression_rate = 2;
  bool error_feedback = true;
  bool warm_start = true;
  double orthogonalization_epsilon = 0;
  bool batch_same_shapes = false;
  /// In [0, 2^32).
  int64_t seed = 0;

  /// With QAdam, the decay of the momentum.
  double beta1 = 0.9;
};

}  // namespace torchfeed
