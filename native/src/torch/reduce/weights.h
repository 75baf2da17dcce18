// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "torch/reduce/replica_layout.h"
#include "torchfeed/reducer.h"

namespace torchfeed::detail {

// The weights of all ranks, which travel behind the gradients of a bucket. Each rank writes the
// bits of its weight as small whole numbers to a place of its own, and zeros elsewhere. Their sum
// over the ranks is exact in each dtype, even if it is divided.

/// Returns how many numbers the weights of some ranks are.
[[nodiscard]] int64_t weight_numbers(int64_t ranks);
/// Writes the weight of a rank.
void write_weight(const at::Tensor& numbers, int64_t rank, double weight);
/// Returns the sum of the weights of all ranks.
///
/// @param divisor  the number by which the sums of the numbers have been divided
[[nodiscard]] double sum_of_weights(const at::Tensor& numbers, int64_t divisor);

/// Throws if weighted losses are set, and the gradients are exchanged in a way that has none.
void check_weights(const ReducerOptions& options);
/// Throws if weighted losses are set, and no parameter has gradients behind which weights travel.
///
/// @param sparse  for each parameter, whether its gradients are sparse
void check_weighable(const ReducerOptions& options, const std::vector<NamedTensor>& parameters,
                     const std::vector<bool>& sparse);

}  // namespace torchfeed::detail
