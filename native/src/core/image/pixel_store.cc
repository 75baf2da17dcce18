// SPDX-License-Identifier: Apache-2.0
#include "core/image/pixel_store.h"

#include <cstddef>
#include <cstring>

namespace torchfeed {
namespace {

constexpr int64_t kChannels = 3;

/// Stores planes of elements that a function makes of the channel and the byte.
template <typename Element, typename Convert>
class Planes final : public PixelStore {
 public:
  Planes(Element* target, const StoredShape& shape, Convert convert)
      : target_(target), shape_(shape), convert_(convert) {}

  void put_row(int64_t y, const uint8_t* rgb) override {
    const int64_t row = shape_.flips_vertically ? shape_.height - 1 - y : y;
    for (int64_t c = 0; c < kChannels; ++c) {
      Element* const target = target_ + (c * shape_.height + row) * shape_.width;
      const auto convert = convert_(static_cast<std::size_t>(c));
      if (shape_.flips_horizontally) {
        for (int64_t x = 0; x < shape_.width; ++x) {
          target[shape_.width - 1 - x] = convert(rgb[kChannels * x + c]);
        }
      } else {
        for (int64_t x = 0; x < shape_.width; ++x) {
          target[x] = convert(rgb[kChannels * x + c]);
        }
      }
    }
  }

 private:
  Element* const target_;
  const StoredShape shape_;
  const Convert convert_;
};

class Interleaved final : public PixelStore {
 public:
  Interleaved(const Pixels& pixels, bool flips_horizontally, bool flips_vertically)
      : pixels_(pixels),
        flips_horizontally_(flips_horizontally),
        flips_vertically_(flips_vertically) {}

  void put_row(int64_t y, const uint8_t* rgb) override {
    const int64_t row = flips_vertically_ ? pixels_.height - 1 - y : y;
    uint8_t* const target = pixels_.data + kChannels * row * pixels_.width;
    if (!flips_horizontally_) {
      std::memcpy(target, rgb, static_cast<std::size_t>(kChannels * pixels_.width));
      return;
    }
    for (int64_t x = 0; x < pixels_.width; ++x) {
      std::memcpy(target + kChannels * (pixels_.width - 1 - x), rgb + kChannels * x, kChannels);
    }
  }

 private:
  const Pixels pixels_;
  const bool flips_horizontally_;
  const bool flips_vertically_;
};

}  // namespace

Normalisation::Normalisation(const std::array<float, 3>& mean, const std::array<float, 3>& std) {
  constexpr float kScale = 1.0F / 255.0F;
  for (std::size_t c = 0; c < values_.size(); ++c) {
    for (std::size_t byte = 0; byte < values_[c].size(); ++byte) {
      const float scaled = static_cast<float>(byte) * kScale;
      values_[c][byte] = (scaled - mean[c]) / std[c];
    }
  }
}

std::unique_ptr<PixelStore> byte_planes(uint8_t* target, const StoredShape& shape) {
  const auto convert = [](std::size_t) { return [](uint8_t byte) { return byte; }; };
  return std::make_unique<Planes<uint8_t, decltype(convert)>>(target, shape, convert);
}

std::unique_ptr<PixelStore> float_planes(float* target, const StoredShape& shape,
                                         const Normalisation& normalisation) {
  const auto convert = [&normalisation](std::size_t c) {
    return [table = normalisation.channel(c).data()](uint8_t byte) { return table[byte]; };
  };
  return std::make_unique<Planes<float, decltype(convert)>>(target, shape, convert);
}

std::unique_ptr<PixelStore> interleaved(const Pixels& pixels, bool flips_horizontally,
                                        bool flips_vertically) {
  return std::make_unique<Interleaved>(pixels, flips_horizontally, flips_vertically);
}

}  // namespace torchfeed
