// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/record_image.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "core/image/decode/exif_orientation.h"
#include "core/image/store/jpeg_tiles.h"
#include "core/image/store/record_format.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr std::size_t kRgb = 3;

RecordImage stored(const TiledJpeg& jpeg) {
  RecordImage image;
  for (const uint32_t length : jpeg.tile_bytes) {
    append_length(image.bytes, length);
  }
  image.tiles = {jpeg.layout, static_cast<int64_t>(image.bytes.size()),
                 static_cast<int64_t>(jpeg.header.size()), 0};
  image.bytes.insert(image.bytes.end(), jpeg.header.begin(), jpeg.header.end());
  image.bytes.insert(image.bytes.end(), jpeg.tiles.begin(), jpeg.tiles.end());
  image.tiles.bytes = static_cast<int64_t>(image.bytes.size());
  return image;
}

class BytesInMemory final : public StoredBytes {
 public:
  explicit BytesInMemory(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  void read(int64_t from, std::span<uint8_t> into) const override {
    std::memcpy(into.data(), bytes_.data() + from, into.size());
  }

 private:
  const std::vector<uint8_t>& bytes_;
};

/// Decodes a whole image, and returns whether another one has the same pixels.
///
/// @param other  null to decode only
bool decodes_as(ImageSource& image, ImageSource* other) {
  const Region whole{0, 0, image.width(), image.height()};
  image.begin(whole);
  if (other != nullptr) {
    other->begin(whole);
  }
  const std::size_t bytes = kRgb * static_cast<std::size_t>(whole.width);
  bool are_equal = true;
  for (int64_t y = 0; y < whole.height; ++y) {
    const uint8_t* const row = image.next_row();
    are_equal = are_equal && (other == nullptr || std::memcmp(row, other->next_row(), bytes) == 0);
  }
  return are_equal;
}

/// Returns a JPEG in tiles, or nothing if it is not one, or its pixels would change.
std::optional<RecordImage> in_tiles(std::span<const uint8_t> encoded) {
  const std::optional<TiledJpeg> jpeg = tile_jpeg(encoded);
  if (!jpeg) {
    return std::nullopt;
  }
  RecordImage image = stored(*jpeg);
  const BytesInMemory bytes(image.bytes);
  TileMemory memory;
  const auto tiles = open_tiles(image.tiles, bytes, memory);
  try {
    if (decodes_as(*open_image(encoded), tiles.get())) {
      return image;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnreadable) {
      throw;
    }
  }
  return std::nullopt;
}

}  // namespace

RecordImage record_image(std::span<const uint8_t> encoded) {
  if (static_cast<int64_t>(encoded.size()) > kMostImageBytes / 2) {
    throw_unreadable("it has more than " + std::to_string(kMostImageBytes / 2) + " bytes");
  }
  const int orientation = exif_orientation(encoded);
  if (std::optional<RecordImage> tiles = in_tiles(encoded)) {
    tiles->orientation = orientation;
    return *std::move(tiles);
  }
  const auto source = open_image(encoded);
  RecordImage image;
  image.orientation = orientation;
  image.tiles.layout.width = source->width();
  image.tiles.layout.height = source->height();
  image.tiles.bytes = static_cast<int64_t>(encoded.size());
  image.bytes.assign(encoded.begin(), encoded.end());
  decodes_as(*source, nullptr);
  return image;
}

}  // namespace torchfeed
