// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace torchfeed {

/// Returns the orientation in the EXIF data of a JPEG, PNG or WebP: 1 to 8, as in the EXIF
/// standard. It is 1, upright, if there is none, or its data is damaged.
///
/// @param encoded  the content of the file
[[nodiscard]] int exif_orientation(std::span<const uint8_t> encoded);

}  // namespace torchfeed
