// SPDX-License-Identifier: Apache-2.0
#include "core/image/decode/whole_source.h"

#include "core/image/pixels.h"

namespace torchfeed {

void WholeSource::set_size(int64_t width, int64_t height, int64_t max_pixels) {
  require_pixels(width, height, max_pixels);
  width_ = width;
  height_ = height;
}

void WholeSource::begin(const Region& region) {
  pixels_.assign(static_cast<std::size_t>(kChannels * width_ * height_) + kRowSlack, 0);
  decode(pixels_.data());
  next_ = static_cast<std::size_t>(kChannels * (region.top * width_ + region.left));
}

const uint8_t* WholeSource::next_row() {
  const uint8_t* const row = pixels_.data() + next_;
  next_ += static_cast<std::size_t>(kChannels * width_);
  return row;
}

uint32_t EncodedBytes::little(int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    value |= static_cast<uint32_t>(byte()) << (8 * i);
  }
  return value;
}

std::span<const uint8_t> EncodedBytes::take(std::size_t count) {
  if (at_ > bytes_.size() || count > bytes_.size() - at_) {
    throw_damaged("the " + kind_ + " is cut off");
  }
  const auto taken = bytes_.subspan(at_, count);
  at_ += count;
  return taken;
}

}  // namespace torchfeed
