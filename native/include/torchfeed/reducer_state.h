// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "torchfeed/export.h"

namespace torchfeed {

/// The state of a reducer between two backward passes.
struct TORCHFEED_API ReducerState {
  /// The parameters of each bucket, as numbers separated by spaces, one bucket per line; empty if
  /// the buckets are the first backward pass's.
  std::string buckets;
  /// With a static graph, how often the first backward pass used each parameter, and then, for each
  /// of them, whether it was used on any rank, as numbers separated by spaces; empty before that
  /// pass.
  std::string uses;
  /// The backward passes that the exchange of gradients has counted.
  int64_t exchange_steps = 0;
  /// The state of the exchange's random numbers; empty if it draws none.
  std::string exchange_random;
  /// The names of `tensors`, one per line: a role, a dot, and the name of a parameter.
  std::string names;
  /// The tensors of each parameter that the exchange keeps.
  std::vector<torch::Tensor> tensors;
};

}  // namespace torchfeed
