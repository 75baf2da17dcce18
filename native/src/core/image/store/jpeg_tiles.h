// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/image/decode/image_source.h"

namespace torchfeed {

/// The tiles of an image: equal numbers of MCUs that restart markers separate, a whole number of
/// them in each row of MCUs. Any rectangle of tiles can be cut out of the encoded bytes.
struct TileLayout {
  [[nodiscard]] int64_t tile_width() const { return tile_mcus * mcu_width; }  // in pixels
  [[nodiscard]] int64_t across() const { return (width + tile_width() - 1) / tile_width(); }
  [[nodiscard]] int64_t down() const { return (height + mcu_height - 1) / mcu_height; }
  [[nodiscard]] int64_t tiles() const { return across() * down(); }

  int64_t width = 0;  // of the image
  int64_t height = 0;
  int64_t mcu_width = 0;  // in pixels
  int64_t mcu_height = 0;
  int64_t tile_mcus = 0;  // of a tile, side by side
  int64_t size_at = 0;    // where the header has the height, and behind it the width
};

/// A rectangle of tiles, and the part of the image that they show.
struct TileRange {
  int64_t left;
  int64_t top;
  int64_t right;   // behind the last
  int64_t bottom;  // behind the last
  Region pixels;
};

/// An image in tiles. Header and tiles, one after the other, are a baseline JPEG.
struct TiledJpeg {
  TileLayout layout;
  std::vector<uint8_t> header;       // up to the first tile
  std::vector<uint8_t> tiles;        // each with the marker behind it
  std::vector<uint32_t> tile_bytes;  // the length of each tile, its marker included
};

/// Rewrites a JPEG in tiles, with the best Huffman tables. Its coefficients and so its pixels stay
/// as they are. Only metadata that decides the colors is kept.
///
/// @return nothing if the JPEG is of a kind that is not rewritten, or is damaged
[[nodiscard]] std::optional<TiledJpeg> tile_jpeg(std::span<const uint8_t> jpeg);

/// Returns the tiles that must be decoded so that the pixels of a region equal the whole image's.
/// Neighbours contribute to each pixel of subsampled chroma.
[[nodiscard]] TileRange tiles_of(const TileLayout& layout, const Region& region);

/// Makes the header of a whole image the header of some of its tiles.
void set_size(const TileLayout& layout, const TileRange& range, std::span<uint8_t> header);

/// Writes the marker that ends a tile of a rectangle.
///
/// @param tile    the tile with its marker
/// @param number  of the tile in the rectangle
void end_tile(std::span<uint8_t> tile, int64_t number, bool is_last);

}  // namespace torchfeed
