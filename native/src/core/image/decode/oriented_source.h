// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/image/decode/image_source.h"

namespace torchfeed {

/// Returns an image that is turned and reflected as an EXIF orientation wants it, as Pillow's
/// `exif_transpose` does. The region is decoded as a whole once its first row is needed.
///
/// @param orientation  1 to 8; 1 returns the image itself
std::unique_ptr<ImageSource> oriented(std::unique_ptr<ImageSource> image, int orientation);

}  // namespace torchfeed
