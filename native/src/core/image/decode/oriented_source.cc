// SPDX-License-Identifier: Apache-2.0
#include "core/image/decode/oriented_source.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/image/pixels.h"

namespace torchfeed {
namespace {

class OrientedSource final : public ImageSource {
 public:
  OrientedSource(std::unique_ptr<ImageSource> image, int orientation)
      : image_(std::move(image)),
        swaps_axes_(orientation >= 5),
        reverses_columns_(orientation == 2 || orientation == 3 || orientation == 7 ||
                          orientation == 8),
        reverses_rows_(orientation == 3 || orientation == 4 || orientation == 6 ||
                       orientation == 7) {}

  [[nodiscard]] int64_t width() const override {
    return swaps_axes_ ? image_->height() : image_->width();
  }

  [[nodiscard]] int64_t height() const override {
    return swaps_axes_ ? image_->width() : image_->height();
  }

  void begin(const Region& region) override {
    part_ = swaps_axes_ ? Region{region.top, region.left, region.height, region.width} : region;
    if (reverses_columns_) {
      part_.left = image_->width() - part_.left - part_.width;
    }
    if (reverses_rows_) {
      part_.top = image_->height() - part_.top - part_.height;
    }
    image_->begin(part_);
    row_.resize(static_cast<std::size_t>(kChannels * region.width) + kRowSlack);
  }

  const uint8_t* next_row() override {
    if (pixels_.empty()) {
      decode();
    }
    // The first pixel of the row in the part, and the step to the next one.
    const int64_t y = next_++;
    const int64_t column = swaps_axes_ ? y : 0;
    const int64_t row = swaps_axes_ ? 0 : y;
    const int64_t x = reverses_columns_ ? part_.width - 1 - column : column;
    const int64_t first = (reverses_rows_ ? part_.height - 1 - row : row) * part_.width + x;
    const int64_t along_row = reverses_columns_ ? -1 : 1;
    const int64_t along_column = reverses_rows_ ? -part_.width : part_.width;
    const int64_t step = swaps_axes_ ? along_column : along_row;
    const int64_t width = swaps_axes_ ? part_.height : part_.width;
    for (int64_t i = 0; i < width; ++i) {
      std::memcpy(row_.data() + kChannels * i, pixels_.data() + kChannels * (first + step * i),
                  kChannels);
    }
    return row_.data();
  }

 private:
  void decode() {
    const auto length = static_cast<std::size_t>(kChannels * part_.width);
    pixels_.resize(length * static_cast<std::size_t>(part_.height));
    for (auto row = pixels_.begin(); row != pixels_.end();
         row += static_cast<std::ptrdiff_t>(length)) {
      std::copy_n(image_->next_row(), length, row);
    }
  }

  const std::unique_ptr<ImageSource> image_;
  const bool swaps_axes_;
  const bool reverses_columns_;  // of the image, before its axes are swapped
  const bool reverses_rows_;
  Region part_{};
  std::vector<uint8_t> pixels_;  // of the part
  std::vector<uint8_t> row_;
  int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<ImageSource> oriented(std::unique_ptr<ImageSource> image, int orientation) {
  if (orientation == 1) {
    return image;
  }
  return std::make_unique<OrientedSource>(std::move(image), orientation);
}

}  // namespace torchfeed
