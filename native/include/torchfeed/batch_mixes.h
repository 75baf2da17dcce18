// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "torchfeed/export.h"

namespace torchfeed {

/// Draws the weight of an image's own pixels and label in torchvision's `MixUp`, in (0, 1): a
/// number of the distribution Beta(`alpha`, `alpha`), a function of `seed`.
///
/// @param alpha  finite, above 0
[[nodiscard]] TORCHFEED_API double draw_mixup_weight(double alpha, int64_t seed);

/// Draws the rectangle of torchvision's `CutMix`, a function of `seed`.
///
/// @param height, width  of the images, from 1 to 2^28
/// @param box  receives top, left, height and width; it may be empty
/// @returns the weight of an image's own label, the share of the area outside the rectangle
TORCHFEED_API double draw_cutmix_box(double alpha, int64_t seed, int64_t height, int64_t width,
                                     int64_t* box);

}  // namespace torchfeed
