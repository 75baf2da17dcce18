// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "core/image/jpeg/huffman_encoder.h"
#include "core/image/store/jpeg_tiles.h"
#include "core/image/store/tile_source.h"
#include "image/golden_lines.h"
#include "image/image_files.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using testing::golden_image;

/// The stored bytes of an image in memory. Counts the bytes read.
class BytesInMemory final : public StoredBytes {
 public:
  explicit BytesInMemory(Bytes bytes) : bytes_(std::move(bytes)) {}

  void read(int64_t from, std::span<uint8_t> into) const override {
    ASSERT_LE(from + static_cast<int64_t>(into.size()), static_cast<int64_t>(bytes_.size()));
    std::memcpy(into.data(), bytes_.data() + from, into.size());
    read_ += into.size();
  }
  [[nodiscard]] std::size_t bytes_read() const { return read_; }

 private:
  const Bytes bytes_;
  mutable std::size_t read_ = 0;
};

/// An image in tiles as it is stored.
struct Stored {
  explicit Stored(const TiledJpeg& tiled)
      : tiles{tiled.layout, 0, static_cast<int64_t>(tiled.header.size()), 0},
        bytes(joined(tiled)) {}

  Bytes joined(const TiledJpeg& tiled) {
    Bytes all;
    for (const uint32_t length : tiled.tile_bytes) {
      append_length(all, length);
    }
    tiles.table_bytes = static_cast<int64_t>(all.size());
    all.insert(all.end(), tiled.header.begin(), tiled.header.end());
    all.insert(all.end(), tiled.tiles.begin(), tiled.tiles.end());
    tiles.bytes = static_cast<int64_t>(all.size());
    return all;
  }

  StoredTiles tiles;
  BytesInMemory bytes;
};

/// The files of the golden images that are rewritten, and their tiles.
const std::map<std::string, TiledJpeg>& tiled_jpegs() {
  static const auto files = [] {
    std::map<std::string, TiledJpeg> found;
    for (auto& line : testing::golden_lines("images/cases.txt", "pass")) {
      const std::string name = line.word();
      if (name.ends_with(".jpg") && !found.contains(name)) {
        std::optional<TiledJpeg> tiled = tile_jpeg(golden_image(name));
        EXPECT_TRUE(tiled.has_value()) << name;
        if (tiled) {
          found.emplace(name, std::move(*tiled));
        }
      }
    }
    return found;
  }();
  return files;
}

TEST(JpegTiles, AreOnesOfFourToEightMcusIfTheyDivideTheRow) {
  const auto mcus = [](const std::string& name) { return tiled_jpegs().at(name).layout.tile_mcus; };
  EXPECT_EQ(19, mcus("444.jpg"));     // 150 pixels
  EXPECT_EQ(5, mcus("420.jpg"));      // the same, in MCUs of 16
  EXPECT_EQ(6, mcus("444_odd.jpg"));  // 47 pixels
  EXPECT_EQ(3, mcus("420_odd.jpg"));  // the same, in MCUs of 16
  EXPECT_EQ(1, mcus("one_pixel.jpg"));
  EXPECT_EQ(4, mcus("wide.jpg"));  // 700 pixels
}

TEST(JpegTiles, AreAJpegOfTheSamePixels) {
  EXPECT_GE(tiled_jpegs().size(), 28U);
  for (const auto& [name, tiled] : tiled_jpegs()) {
    Bytes whole = tiled.header;
    whole.insert(whole.end(), tiled.tiles.begin(), tiled.tiles.end());
    EXPECT_EQ(testing::decoded(golden_image(name)), testing::decoded(whole)) << name;
    EXPECT_EQ(tiled.layout.tiles(), static_cast<int64_t>(tiled.tile_bytes.size())) << name;
  }
}

TEST(JpegTiles, PixelsOfTilesEqualPillowsAndTorchvisions) {
  TileMemory memory;
  std::size_t cases = 0;
  for (auto& line : testing::golden_lines("images/cases.txt", "pass")) {
    const auto file = tiled_jpegs().find(line.word());
    if (file == tiled_jpegs().end()) {
      continue;
    }
    const Stored stored(file->second);
    Resize resize;
    resize.dialect = static_cast<ResizeDialect>(line.integer());
    resize.filter = static_cast<ResizeFilter>(line.integer());
    Placement placement{};
    for (int64_t* number :
         {&placement.crop.left, &placement.crop.top, &placement.crop.width, &placement.crop.height,
          &placement.width, &placement.height, &placement.window.left, &placement.window.top,
          &placement.window.width, &placement.window.height}) {
      *number = line.integer();
    }
    const bool flips_horizontally = line.integer() != 0;
    const bool flips_vertically = line.integer() != 0;
    const auto source = open_tiles(stored.tiles, stored.bytes, memory);
    const Bytes pixels =
        testing::passed(*source, placement, resize, flips_horizontally, flips_vertically);
    EXPECT_EQ(std::stoul(line.word(), nullptr, 16), testing::crc32(pixels.data(), pixels.size()))
        << line.text();
    ++cases;
  }
  EXPECT_GE(cases, 600U);
}

TEST(JpegTiles, OnlyTheTilesOfTheRegionAreRead) {
  TileMemory memory;
  const Stored stored(tiled_jpegs().at("420.jpg"));
  EXPECT_EQ(2, stored.tiles.layout.across());
  EXPECT_EQ(8, stored.tiles.layout.down());
  const auto tile = [&](int64_t x, int64_t y) {
    return tiled_jpegs().at("420.jpg").tile_bytes[static_cast<std::size_t>(2 * y + x)];
  };
  const auto read = [&](const Region& region) {
    const std::size_t before = stored.bytes.bytes_read();
    testing::passed(*open_tiles(stored.tiles, stored.bytes, memory), testing::unscaled(region));
    return static_cast<int64_t>(stored.bytes.bytes_read() - before) - stored.tiles.table_bytes -
           stored.tiles.header_bytes;
  };
  EXPECT_EQ(tile(0, 1), read({0, 18, 78, 12}));
  EXPECT_EQ(tile(0, 0) + tile(0, 1), read({0, 17, 78, 12}));
  EXPECT_EQ(tile(0, 1) + tile(0, 2), read({0, 18, 78, 13}));
  EXPECT_EQ(tile(0, 1) + tile(1, 1), read({0, 18, 79, 12}));
  EXPECT_EQ(tile(1, 7), read({82, 114, 68, 4}));
}

TEST(JpegTiles, AnyRegionEqualsThatOfTheWholeImage) {
  TileMemory memory;
  std::mt19937 random(3);
  for (const auto& [name, tiled] : tiled_jpegs()) {
    const Stored stored(tiled);
    const Bytes encoded = golden_image(name);
    for (int i = 0; i < 30; ++i) {
      const auto side = [&](int64_t length) {
        const int64_t from = static_cast<int64_t>(random()) % length;
        return std::pair(from,
                         1 + static_cast<int64_t>(random()) % std::min<int64_t>(length - from, 40));
      };
      const auto [left, width] = side(tiled.layout.width);
      const auto [top, height] = side(tiled.layout.height);
      const Placement placement = testing::unscaled({left, top, width, height});
      const auto source = open_tiles(stored.tiles, stored.bytes, memory);
      EXPECT_EQ(testing::passed(encoded, placement), testing::passed(*source, placement))
          << name << ' ' << left << ' ' << top << ' ' << width << ' ' << height;
    }
  }
}

}  // namespace
}  // namespace torchfeed
