// SPDX-License-Identifier: Apache-2.0
#include "core/image/decode/webp_source.h"

#include <webp/decode.h>

#include <cstddef>
#include <vector>

namespace torchfeed {
namespace {

class WebpSource final : public ImageSource {
 public:
  WebpSource(std::span<const uint8_t> encoded, int64_t max_pixels) : encoded_(encoded) {
    if (WebPGetFeatures(encoded.data(), encoded.size(), &features_) != VP8_STATUS_OK) {
      throw_unreadable("the header of the WebP is not valid");
    }
    if (features_.has_animation != 0) {
      throw_unreadable("a WebP must not be animated");
    }
    require_pixels(features_.width, features_.height, max_pixels);
  }

  [[nodiscard]] int64_t width() const override { return features_.width; }
  [[nodiscard]] int64_t height() const override { return features_.height; }

  void begin(const Region& region) override {
    row_bytes_ = 3 * static_cast<std::size_t>(features_.width);
    const std::size_t bytes = row_bytes_ * static_cast<std::size_t>(features_.height);
    pixels_.resize(bytes + kRowSlack);
    if (WebPDecodeRGBInto(encoded_.data(), encoded_.size(), pixels_.data(), bytes,
                          static_cast<int>(row_bytes_)) == nullptr) {
      throw_unreadable("the WebP is damaged or cut off");
    }
    next_ = static_cast<std::size_t>(region.top) * row_bytes_ +
            3 * static_cast<std::size_t>(region.left);
  }

  const uint8_t* next_row() override {
    const uint8_t* const row = pixels_.data() + next_;
    next_ += row_bytes_;
    return row;
  }

 private:
  const std::span<const uint8_t> encoded_;
  WebPBitstreamFeatures features_{};
  std::size_t row_bytes_ = 0;
  std::vector<uint8_t> pixels_;
  std::size_t next_ = 0;  // offset of the next row of the region
};

}  // namespace

std::unique_ptr<ImageSource> open_webp(std::span<const uint8_t> encoded, int64_t max_pixels) {
  return std::make_unique<WebpSource>(encoded, max_pixels);
}

}  // namespace torchfeed
