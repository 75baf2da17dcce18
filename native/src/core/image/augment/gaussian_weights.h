// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace torchfeed {

/// Returns the weights of one axis of a blur, whose sum is about 1, as torchvision 0.25 computes
/// them in float32 with torch 2.10 under AVX2, bit for bit: a softmax over the points of
/// `linspace`, which are 1 / sqrt(2) apart.
///
/// @param kernel  their number, at least 1
/// @param sigma   the standard deviation, in [1e-3, 1e3]
[[nodiscard]] std::vector<float> gaussian_weights(int64_t kernel, double sigma);

}  // namespace torchfeed
