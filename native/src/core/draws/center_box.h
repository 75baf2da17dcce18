// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/draws/box.h"

namespace torchfeed {

/// Returns the rectangle that torchvision's `CenterCrop` cuts out. Where the image is smaller,
/// the rectangle begins before it and ends behind it.
[[nodiscard]] Box center_box(int64_t height, int64_t width, int64_t crop_height,
                             int64_t crop_width);

}  // namespace torchfeed
