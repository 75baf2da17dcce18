// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/image/decode/image_source.h"
#include "core/image/store/jpeg_tiles.h"

namespace torchfeed {

/// The stored bytes of one image, read in parts.
class StoredBytes {
 public:
  StoredBytes() = default;
  StoredBytes(const StoredBytes&) = delete;
  StoredBytes& operator=(const StoredBytes&) = delete;
  virtual ~StoredBytes() = default;

  /// Reads the bytes from `from` on.
  ///
  /// @throws Error  of code `kUnreadable` if they cannot be read
  virtual void read(int64_t from, std::span<uint8_t> into) const = 0;
};

/// The parts of an image in tiles and their lengths: first the table, the lengths of the tiles as
/// `append_length` writes them, then the header, then the tiles.
struct StoredTiles {
  TileLayout layout;
  int64_t table_bytes = 0;
  int64_t header_bytes = 0;
  int64_t bytes = 0;  // of all three
};

/// Memory that the sources of one thread reuse, each after the one before has ended.
struct TileMemory {
  std::vector<uint8_t> head;       // table and header
  std::vector<int64_t> positions;  // of the tiles, and the end of the last
  std::vector<uint8_t> jpeg;
};

/// Appends the length of a tile to a table: 7 bits per byte, the lowest first; all but the last
/// have the highest bit set.
void append_length(std::vector<uint8_t>& table, uint32_t length);

/// Opens an image in tiles, reading only the tiles that the region needs. Its pixels equal the
/// whole image's.
///
/// @param stored  must outlive the source, as must `memory`
std::unique_ptr<ImageSource> open_tiles(const StoredTiles& tiles, const StoredBytes& stored,
                                        TileMemory& memory);

}  // namespace torchfeed
