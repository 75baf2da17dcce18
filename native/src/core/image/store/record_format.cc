// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/record_format.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/crc32.h"

namespace torchfeed {
namespace {

constexpr std::string_view kMagic = "TFIMAGES";
constexpr uint64_t kVersion = 1;
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kChecksumAt = 12;
constexpr std::size_t kChecksummedFrom = 16;
constexpr int64_t kMaxJpegSide = 65535;
constexpr int64_t kMostMcuSide = 32;

void put(std::span<uint8_t> into, std::size_t at, std::size_t bytes, uint64_t value) {
  for (std::size_t i = 0; i < bytes; ++i) {
    into[at + i] = static_cast<uint8_t>(value >> (8 * i));
  }
}

uint64_t get(std::span<const uint8_t> from, std::size_t at, std::size_t bytes) {
  uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    value = value << 8 | from[at + i];
  }
  return value;
}

/// A number that must not be negative.
int64_t get_length(std::span<const uint8_t> from, std::size_t at) {
  return static_cast<int64_t>(
      std::min<uint64_t>(get(from, at, 8), std::numeric_limits<int64_t>::max()));
}

bool is_mcu_side(int64_t pixels) {
  return pixels >= 8 && pixels <= kMostMcuSide && pixels % 8 == 0;
}

bool makes_sense(const StoredTiles& tiles) {
  const TileLayout& layout = tiles.layout;
  if (layout.width > kMaxJpegSide || layout.height > kMaxJpegSide || layout.tile_mcus < 1 ||
      !is_mcu_side(layout.mcu_width) || !is_mcu_side(layout.mcu_height)) {
    return false;
  }
  return layout.size_at + 4 <= tiles.header_bytes &&
         tiles.table_bytes + tiles.header_bytes <= tiles.bytes &&
         layout.tiles() <= tiles.table_bytes;
}

}  // namespace

RecordHeaderBytes written(const RecordHeader& header) {
  RecordHeaderBytes bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  put(bytes, kVersionAt, 4, kVersion);
  put(bytes, kChecksumAt, 4, header.checksum);
  put(bytes, 16, 8, static_cast<uint64_t>(header.images));
  put(bytes, 24, 8, static_cast<uint64_t>(header.description_at));
  put(bytes, 32, 8, static_cast<uint64_t>(header.description_bytes));
  put(bytes, 40, 8, static_cast<uint64_t>(header.file_bytes));
  return bytes;
}

RecordHeader read_header(const RecordHeaderBytes& bytes) {
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    throw_unreadable("it is not a file of image records");
  }
  if (get(bytes, kVersionAt, 4) != kVersion) {
    throw_unreadable("its version must be " + std::to_string(kVersion) + ", got " +
                     std::to_string(get(bytes, kVersionAt, 4)));
  }
  RecordHeader header;
  header.checksum = static_cast<uint32_t>(get(bytes, kChecksumAt, 4));
  header.images = get_length(bytes, 16);
  header.description_at = get_length(bytes, 24);
  header.description_bytes = get_length(bytes, 32);
  header.file_bytes = get_length(bytes, 40);
  return header;
}

RecordRowBytes written(const RecordRow& row) {
  const StoredTiles& tiles = row.tiles;
  RecordRowBytes bytes{};
  put(bytes, 0, 8, static_cast<uint64_t>(row.offset));
  put(bytes, 8, 4, static_cast<uint64_t>(tiles.bytes));
  put(bytes, 12, 4, static_cast<uint64_t>(tiles.table_bytes));
  put(bytes, 16, 4, static_cast<uint64_t>(tiles.header_bytes));
  put(bytes, 20, 4, static_cast<uint64_t>(tiles.layout.width));
  put(bytes, 24, 4, static_cast<uint64_t>(tiles.layout.height));
  put(bytes, 28, 4, row.label);
  put(bytes, 32, 4, row.checksum);
  put(bytes, 36, 2, static_cast<uint64_t>(tiles.layout.tile_mcus));
  put(bytes, 38, 1, static_cast<uint64_t>(tiles.layout.mcu_width));
  put(bytes, 39, 1, static_cast<uint64_t>(tiles.layout.mcu_height));
  put(bytes, 40, 2, static_cast<uint64_t>(tiles.layout.size_at));
  put(bytes, 42, 1, static_cast<uint64_t>(row.orientation));
  return bytes;
}

std::optional<RecordRow> read_row(const RecordRowBytes& bytes, int64_t end) {
  const auto number = [&](std::size_t at, std::size_t length) {
    return static_cast<int64_t>(get(bytes, at, length));
  };
  RecordRow row;
  row.offset = get_length(bytes, 0);
  row.tiles.bytes = number(8, 4);
  row.tiles.table_bytes = number(12, 4);
  row.tiles.header_bytes = number(16, 4);
  row.label = static_cast<uint32_t>(get(bytes, 28, 4));
  row.checksum = static_cast<uint32_t>(get(bytes, 32, 4));
  TileLayout& layout = row.tiles.layout;
  layout.width = number(20, 4);
  layout.height = number(24, 4);
  layout.tile_mcus = number(36, 2);
  layout.mcu_width = number(38, 1);
  layout.mcu_height = number(39, 1);
  layout.size_at = number(40, 2);
  row.orientation = static_cast<int>(number(42, 1));
  const bool fits = row.bytes() <= kMostImageBytes && row.offset <= end &&
                    row.bytes() <= end - row.offset && row.offset % kRecordAlignment == 0;
  const bool has_pixels = layout.width > 0 && layout.height > 0;
  const bool has_orientation = row.orientation >= 1 && row.orientation <= 8;
  if (!fits || !has_pixels || !has_orientation || (row.is_tiled() && !makes_sense(row.tiles))) {
    return std::nullopt;
  }
  return row;
}

uint32_t checksum_of(const RecordHeaderBytes& header, std::span<const uint8_t> rest) {
  return crc32(rest, crc32(std::span(header).subspan(kChecksummedFrom)));
}

}  // namespace torchfeed
