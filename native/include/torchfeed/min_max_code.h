// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "torchfeed/export.h"

namespace torchfeed {

/// Bagua's code of numbers in one byte each, of 256 levels between their least and their largest.
/// Numbers are contiguous `float32 [n]`; their code is `uint8`, as `buffer(n)` returns it.
struct TORCHFEED_API MinMaxCode {
  [[nodiscard]] static torch::Tensor buffer(int64_t n);
  static void encode(const torch::Tensor& numbers, const torch::Tensor& code);
  /// Adds the numbers of a code to `numbers`.
  static void decode_onto(const torch::Tensor& code, const torch::Tensor& numbers);
};

}  // namespace torchfeed
