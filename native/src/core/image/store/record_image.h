// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/image/store/tile_source.h"

namespace torchfeed {

/// An image as a record file stores it.
struct RecordImage {
  StoredTiles tiles;  // without tiles, only its size and length
  std::vector<uint8_t> bytes;
  int orientation = 1;
};

/// Returns an image to be stored: in tiles if it is a JPEG that can be rewritten, else as it is.
/// Decodes all of it, and compares the pixels of the tiles with it.
///
/// @throws Error  of code `kUnreadable` if it cannot be decoded
[[nodiscard]] RecordImage record_image(std::span<const uint8_t> encoded);

}  // namespace torchfeed
