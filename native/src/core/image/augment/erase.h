// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/draws/box.h"
#include "core/image/pixels.h"

namespace torchfeed {

/// Fills a rectangle, which lies within the image and may be empty.
void erase(Pixels pixels, const Box& box, const std::array<uint8_t, 3>& fill);

}  // namespace torchfeed
