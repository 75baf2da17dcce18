// SPDX-License-Identifier: Apache-2.0
#include "core/image/decode/webp_source.h"

#include <webp/decode.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "core/image/decode/whole_source.h"
#include "core/image/pixels.h"

namespace torchfeed {
namespace {

constexpr std::size_t kChunkHeader = 8;

/// Returns a number of 3 or 4 bytes, the lowest first.
int64_t little(std::span<const uint8_t> bytes, std::size_t at, std::size_t length) {
  int64_t value = 0;
  for (std::size_t i = 0; i < length; ++i) {
    value |= int64_t{bytes[at + i]} << (8 * i);
  }
  return value;
}

/// A frame of an animation: its place on the canvas and its own chunks.
struct Frame {
  Region place;
  std::span<const uint8_t> encoded;
};

/// Returns the first frame of an animation.
Frame first_frame(std::span<const uint8_t> rest) {
  constexpr std::string_view kName = "ANMF";
  constexpr std::size_t kFrameHeader = 16;
  rest = rest.subspan(std::min<std::size_t>(12, rest.size()));
  while (rest.size() >= kChunkHeader) {
    const auto length = static_cast<std::size_t>(little(rest, 4, 4));
    const bool is_frame = std::equal(kName.begin(), kName.end(), rest.begin());
    rest = rest.subspan(kChunkHeader);
    if (length > rest.size()) {
      break;
    }
    if (is_frame && length > kFrameHeader) {
      return {{2 * little(rest, 0, 3), 2 * little(rest, 3, 3), little(rest, 6, 3) + 1,
               little(rest, 9, 3) + 1},
              rest.subspan(kFrameHeader, length - kFrameHeader)};
    }
    rest = rest.subspan(std::min(length + length % 2, rest.size()));
  }
  throw_damaged("the animated WebP has no whole frame");
}

class WebpSource final : public WholeSource {
 public:
  WebpSource(std::span<const uint8_t> encoded, int64_t max_pixels) {
    WebPBitstreamFeatures features{};
    if (WebPGetFeatures(encoded.data(), encoded.size(), &features) != VP8_STATUS_OK) {
      throw_damaged("the header of the WebP is not valid");
    }
    set_size(features.width, features.height, max_pixels);
    frame_ = {{0, 0, width(), height()}, encoded};
    if (features.has_animation != 0) {
      frame_ = first_frame(encoded);
      require_frame();
    }
  }

 private:
  void require_frame() const {
    WebPBitstreamFeatures features{};
    const Region& place = frame_.place;
    if (WebPGetFeatures(frame_.encoded.data(), frame_.encoded.size(), &features) != VP8_STATUS_OK ||
        features.width != place.width || features.height != place.height ||
        place.left + place.width > width() || place.top + place.height > height()) {
      throw_damaged("the first frame of the WebP is not valid");
    }
  }

  void decode(uint8_t* rgb) override {
    const Region& place = frame_.place;
    const auto stride = static_cast<std::size_t>(kChannels * width());
    const auto row_bytes = static_cast<std::size_t>(kChannels * place.width);
    const std::size_t bytes = stride * static_cast<std::size_t>(place.height - 1) + row_bytes;
    uint8_t* const first = rgb + kChannels * (place.top * width() + place.left);
    if (WebPDecodeRGBInto(frame_.encoded.data(), frame_.encoded.size(), first, bytes,
                          static_cast<int>(stride)) == nullptr) {
      throw_damaged("the WebP is damaged or cut off");
    }
  }

  Frame frame_{};
};

}  // namespace

std::unique_ptr<ImageSource> open_webp(std::span<const uint8_t> encoded, int64_t max_pixels) {
  return std::make_unique<WebpSource>(encoded, max_pixels);
}

}  // namespace torchfeed
