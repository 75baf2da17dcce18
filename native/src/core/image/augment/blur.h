// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/image/pixels.h"

namespace torchfeed {

/// Blurs each channel, the image reflected at its borders. Equal bit for bit to `gaussian_blur`
/// of torchvision 0.25 on a uint8 tensor under AVX2, which adds `kernel * kernel` products in
/// float32, one after another: two passes compute a sum of little error, and only where that error
/// may decide to which side it is rounded, the products are added in torchvision's order.
///
/// @param kernel  the side of the square of weights, odd; torchvision requires that its half,
///                rounded down, is less than each side of the image
/// @param sigma   the standard deviation in pixels, in [1e-3, 1e3]
/// @param spare   memory for a copy of the image
void gaussian_blur(Pixels pixels, int64_t kernel, double sigma, std::vector<uint8_t>& spare);

}  // namespace torchfeed
