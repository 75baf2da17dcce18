// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/image/decode/image_source.h"

namespace torchfeed {

/// Returns a picture that is turned and reflected as an EXIF orientation wants it, as Pillow's
/// `exif_transpose` does. The region is decoded as a whole once its first row is needed.
///
/// @param orientation  1 to 8; 1 returns the picture itself
std::unique_ptr<ImageSource> oriented(std::unique_ptr<ImageSource> picture, int orientation);

}  // namespace torchfeed
