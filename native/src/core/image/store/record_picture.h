// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/image/store/tile_source.h"

namespace torchfeed {

/// A picture as a record file stores it.
struct RecordPicture {
  StoredTiles tiles;  // without tiles, only its size and length
  std::vector<uint8_t> bytes;
  int orientation = 1;
};

/// Returns a picture to be stored: in tiles if it is a JPEG that can be rewritten, else as it is.
/// Decodes all of it, and compares the pixels of the tiles with it.
///
/// @throws Error  of code `kUnreadable` if it cannot be decoded
[[nodiscard]] RecordPicture record_picture(std::span<const uint8_t> encoded);

}  // namespace torchfeed
