// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/image/decode/image_source.h"

namespace torchfeed {

/// Opens a WebP, or the first frame of an animated one, on black; transparency is dropped. It is
/// always decoded as a whole.
std::unique_ptr<ImageSource> open_webp(std::span<const uint8_t> encoded,
                                       int64_t max_pixels = kMaxPixels);

}  // namespace torchfeed
