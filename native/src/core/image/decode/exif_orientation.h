// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace torchfeed {

/// Returns the orientation in the EXIF data of a JPEG, PNG or WebP: 1 to 8, as in the EXIF
/// standard. It is 1, upright, if there is none, its data is damaged, or the image is of another
/// kind; a TIFF is always turned when it is decoded.
///
/// @param encoded  the content of the file
[[nodiscard]] int exif_orientation(std::span<const uint8_t> encoded);

}  // namespace torchfeed
