// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/record_picture.h"

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

RecordPicture stored(const TiledJpeg& jpeg) {
  RecordPicture picture;
  for (const uint32_t length : jpeg.tile_bytes) {
    append_length(picture.bytes, length);
  }
  picture.tiles = {jpeg.layout, static_cast<int64_t>(picture.bytes.size()),
                   static_cast<int64_t>(jpeg.header.size()), 0};
  picture.bytes.insert(picture.bytes.end(), jpeg.header.begin(), jpeg.header.end());
  picture.bytes.insert(picture.bytes.end(), jpeg.tiles.begin(), jpeg.tiles.end());
  picture.tiles.bytes = static_cast<int64_t>(picture.bytes.size());
  return picture;
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

/// Decodes a whole picture, and returns whether another one has the same pixels.
///
/// @param other  null to decode only
bool decodes_as(ImageSource& picture, ImageSource* other) {
  const Region whole{0, 0, picture.width(), picture.height()};
  picture.begin(whole);
  if (other != nullptr) {
    other->begin(whole);
  }
  const std::size_t bytes = kRgb * static_cast<std::size_t>(whole.width);
  bool are_equal = true;
  for (int64_t y = 0; y < whole.height; ++y) {
    const uint8_t* const row = picture.next_row();
    are_equal = are_equal && (other == nullptr || std::memcmp(row, other->next_row(), bytes) == 0);
  }
  return are_equal;
}

/// Returns a JPEG in tiles, or nothing if it is not one, or its pixels would change.
std::optional<RecordPicture> in_tiles(std::span<const uint8_t> encoded) {
  const std::optional<TiledJpeg> jpeg = tile_jpeg(encoded);
  if (!jpeg) {
    return std::nullopt;
  }
  RecordPicture picture = stored(*jpeg);
  const BytesInMemory bytes(picture.bytes);
  TileMemory memory;
  const auto tiles = open_tiles(picture.tiles, bytes, memory);
  try {
    if (decodes_as(*open_image(encoded), tiles.get())) {
      return picture;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnreadable) {
      throw;
    }
  }
  return std::nullopt;
}

}  // namespace

RecordPicture record_picture(std::span<const uint8_t> encoded) {
  if (static_cast<int64_t>(encoded.size()) > kMostPictureBytes / 2) {
    throw_unreadable("it has more than " + std::to_string(kMostPictureBytes / 2) + " bytes");
  }
  const int orientation = exif_orientation(encoded);
  if (std::optional<RecordPicture> tiles = in_tiles(encoded)) {
    tiles->orientation = orientation;
    return *std::move(tiles);
  }
  const auto source = open_image(encoded);
  RecordPicture picture;
  picture.orientation = orientation;
  picture.tiles.layout.width = source->width();
  picture.tiles.layout.height = source->height();
  picture.tiles.bytes = static_cast<int64_t>(encoded.size());
  picture.bytes.assign(encoded.begin(), encoded.end());
  decodes_as(*source, nullptr);
  return picture;
}

}  // namespace torchfeed
