// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/image/store/tile_source.h"

namespace torchfeed {

/// A record file: a header, the images, each from a multiple of 64 on, a description in JSON, and
/// an index. Numbers are little-endian.
///
/// | header at | bytes | |
/// |---|---|---|
/// | 0 | 8 | `TFIMAGES` |
/// | 8 | 4 | the version, 1 |
/// | 12 | 4 | the CRC-32 of the rest of the header, the description and the index |
/// | 16 | 8 | the number of images |
/// | 24 | 8 | where the description begins, right behind the last image |
/// | 32 | 8 | the length of the description |
/// | 40 | 8 | the length of the file; the index ends there |
/// | 48 | 16 | 0 |
///
/// | row of the index at | bytes | |
/// |---|---|---|
/// | 0 | 8 | where the image begins |
/// | 8 | 4 | its length |
/// | 12 | 4 | of it, the table of tiles; 0 if the image is not in tiles |
/// | 16 | 4 | of it, the header of the JPEG; 0 if the image is not in tiles |
/// | 20 | 4 | width |
/// | 24 | 4 | height |
/// | 28 | 4 | label, at most 2^31 - 1 |
/// | 32 | 4 | the CRC-32 of the image |
/// | 36 | 2 | MCUs of a tile |
/// | 38 | 1 | width of an MCU in pixels |
/// | 39 | 1 | height of an MCU in pixels |
/// | 40 | 2 | where the JPEG's header has height and width |
/// | 42 | 1 | the orientation in the EXIF data of the file, 1 to 8 |
/// | 43 | 5 | 0 |
///
/// An image is an unchanged encoded file, or tiles: see `StoredTiles`.
constexpr std::size_t kRecordHeaderBytes = 64;
constexpr std::size_t kRecordRowBytes = 48;
constexpr int64_t kRecordAlignment = 64;
constexpr int64_t kMostImageBytes = int64_t{1} << 30;
constexpr uint32_t kMostLabel = 2147483647;

using RecordHeaderBytes = std::array<uint8_t, kRecordHeaderBytes>;
using RecordRowBytes = std::array<uint8_t, kRecordRowBytes>;

struct RecordHeader {
  uint32_t checksum = 0;
  int64_t images = 0;
  int64_t description_at = 0;
  int64_t description_bytes = 0;
  int64_t file_bytes = 0;
};

/// A row of the index.
struct RecordRow {
  [[nodiscard]] bool is_tiled() const { return tiles.table_bytes > 0; }
  [[nodiscard]] int64_t bytes() const { return tiles.bytes; }

  int64_t offset = 0;
  StoredTiles tiles;  // without tiles, only its size and length
  uint32_t label = 0;
  uint32_t checksum = 0;
  int orientation = 1;  // in the EXIF data of the file that was stored
};

[[nodiscard]] RecordHeaderBytes written(const RecordHeader& header);
[[nodiscard]] RecordRowBytes written(const RecordRow& row);

/// @throws Error  of code `kUnreadable` if it is not the header of a record file of this version
[[nodiscard]] RecordHeader read_header(const RecordHeaderBytes& bytes);

/// Reads a row of the index.
///
/// @param end  of the images in the file
/// @return nothing if it makes no sense
[[nodiscard]] std::optional<RecordRow> read_row(const RecordRowBytes& bytes, int64_t end);

/// Returns the checksum of a record file's header, description and index.
[[nodiscard]] uint32_t checksum_of(const RecordHeaderBytes& header, std::span<const uint8_t> rest);

}  // namespace torchfeed
