// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/image/pixels.h"
#include "core/image/scale/resampling.h"

namespace torchfeed {

/// Geometric operations in place, each equal bit for bit to the one of torchvision 0.25 on a uint8
/// tensor. torchvision computes the origins of pixels by a matrix product, which rounds each step
/// with MKL on an AMD processor, as here; a library that fuses steps takes another pixel where an
/// origin lies in the middle between two. `spare` is memory for a copy of the image.

/// Moves each row by `tangent` times its distance from the upper edge.
void shear_x(Pixels pixels, double tangent, const Resampling& resampling,
             std::vector<uint8_t>& spare);

/// Moves each column by `tangent` times its distance from the left edge.
void shear_y(Pixels pixels, double tangent, const Resampling& resampling,
             std::vector<uint8_t>& spare);

/// Moves the image to the right and down.
void translate(Pixels pixels, int64_t right, int64_t down, const Resampling& resampling,
               std::vector<uint8_t>& spare);

/// Rotates the image counter-clockwise about its center.
void rotate(Pixels pixels, double degrees, const Resampling& resampling,
            std::vector<uint8_t>& spare);

}  // namespace torchfeed
