// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/tile_source.h"

#include <cstddef>
#include <cstring>

#include "core/image/decode/jpeg_source.h"

namespace torchfeed {
namespace {

constexpr int kLengthBits = 7;
constexpr int kLongestLength = 28;
constexpr int64_t kMarkerBytes = 2;

[[noreturn]] void throw_damaged() { throw_unreadable("its table of tiles is damaged"); }

class TileSource final : public ImageSource {
 public:
  TileSource(const StoredTiles& tiles, const StoredBytes& stored, TileMemory& memory)
      : tiles_(tiles), stored_(stored), memory_(memory) {}

  [[nodiscard]] int64_t width() const override { return tiles_.layout.width; }
  [[nodiscard]] int64_t height() const override { return tiles_.layout.height; }

  void begin(const Region& region) override {
    memory_.head.resize(static_cast<std::size_t>(tiles_.table_bytes + tiles_.header_bytes));
    stored_.read(0, memory_.head);
    read_table();
    const TileRange range = tiles_of(tiles_.layout, region);
    cut(range);
    source_ = open_jpeg(memory_.jpeg);
    if (source_->width() != range.pixels.width || source_->height() != range.pixels.height) {
      throw_unreadable("its header does not fit its tiles");
    }
    source_->begin({region.left - range.pixels.left, region.top - range.pixels.top, region.width,
                    region.height});
  }

  const uint8_t* next_row() override { return source_->next_row(); }

 private:
  void read_table() {
    const auto count = static_cast<std::size_t>(tiles_.layout.tiles());
    const auto table = static_cast<std::size_t>(tiles_.table_bytes);
    memory_.positions.clear();
    int64_t position = tiles_.table_bytes + tiles_.header_bytes;
    std::size_t at = 0;
    for (std::size_t tile = 0; tile < count; ++tile) {
      memory_.positions.push_back(position);
      int64_t length = 0;
      int shift = 0;
      bool continues = true;
      for (; continues; shift += kLengthBits) {
        if (at == table || shift >= kLongestLength) {
          throw_damaged();
        }
        length |= int64_t{memory_.head[at] & 0x7f} << shift;
        continues = (memory_.head[at++] & 0x80) != 0;
      }
      if (length < kMarkerBytes) {
        throw_damaged();
      }
      position += length;
    }
    memory_.positions.push_back(position);
    if (at != table || position != tiles_.bytes) {
      throw_damaged();
    }
  }

  /// Returns where a tile is; the one at `across()` is the first of the next row.
  [[nodiscard]] int64_t position(int64_t x, int64_t y) const {
    return memory_.positions[static_cast<std::size_t>(y * tiles_.layout.across() + x)];
  }

  /// Puts together the JPEG of a rectangle of tiles.
  void cut(const TileRange& range) {
    const auto header =
        std::span(memory_.head).subspan(static_cast<std::size_t>(tiles_.table_bytes));
    std::size_t bytes = header.size();
    for (int64_t y = range.top; y < range.bottom; ++y) {
      bytes += static_cast<std::size_t>(position(range.right, y) - position(range.left, y));
    }
    memory_.jpeg.resize(bytes);
    const std::span jpeg(memory_.jpeg);
    std::memcpy(jpeg.data(), header.data(), header.size());
    set_size(tiles_.layout, range, jpeg);
    std::size_t at = header.size();
    // Whole rows of tiles adjoin in the file.
    const bool adjoin = range.right - range.left == tiles_.layout.across();
    for (int64_t y = range.top; y < range.bottom; y = adjoin ? range.bottom : y + 1) {
      const int64_t from = position(range.left, y);
      const int64_t end = position(range.right, adjoin ? range.bottom - 1 : y);
      stored_.read(from, jpeg.subspan(at, static_cast<std::size_t>(end - from)));
      at += static_cast<std::size_t>(end - from);
    }
    number_tiles(range, jpeg.subspan(header.size()));
  }

  void number_tiles(const TileRange& range, std::span<uint8_t> tiles) {
    int64_t number = 0;
    for (int64_t y = range.top; y < range.bottom; ++y) {
      for (int64_t x = range.left; x < range.right; ++x) {
        const auto length = static_cast<std::size_t>(position(x + 1, y) - position(x, y));
        end_tile(tiles.first(length), number++, length == tiles.size());
        tiles = tiles.subspan(length);
      }
    }
  }

  const StoredTiles tiles_;
  const StoredBytes& stored_;
  TileMemory& memory_;
  std::unique_ptr<ImageSource> source_;
};

}  // namespace

void append_length(std::vector<uint8_t>& table, uint32_t length) {
  for (; length >= 1U << kLengthBits; length >>= kLengthBits) {
    table.push_back(static_cast<uint8_t>(0x80 | (length & 0x7f)));
  }
  table.push_back(static_cast<uint8_t>(length));
}

std::unique_ptr<ImageSource> open_tiles(const StoredTiles& tiles, const StoredBytes& stored,
                                        TileMemory& memory) {
  return std::make_unique<TileSource>(tiles, stored, memory);
}

}  // namespace torchfeed
