// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/image/box.h"
#include "core/image/pixels.h"

namespace torchfeed {

/// Returns the rectangle that torchvision's `CenterCrop` cuts out. Where the picture is smaller,
/// the rectangle begins before it and ends behind it.
[[nodiscard]] Box centre_box(int64_t height, int64_t width, int64_t crop_height,
                             int64_t crop_width);

/// Copies a rectangle to `target`, which has its size; what lies outside of `source` becomes
/// `fill`.
void crop_padded(Pixels source, const Box& box, const std::array<uint8_t, 3>& fill, Pixels target);

}  // namespace torchfeed
