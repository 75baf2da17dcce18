// SPDX-License-Identifier: Apache-2.0
#include "core/image/scale/pixel_store.h"

#include <cstddef>
#include <cstring>

#include "core/image/pixels.h"
#include "core/image/scale/normalize_avx2.h"
#include "core/image/scale/normalize_neon.h"
#include "core/image/scale/resample_avx2.h"
#include "core/simd_level.h"

namespace torchfeed {
namespace {

/// The places of the rows of a planar image.
template <typename Element>
struct PlaneRows {
  [[nodiscard]] Element* at(int64_t y, int64_t c) const {
    const int64_t row = shape.flips_vertically ? shape.height - 1 - y : y;
    return target + (c * shape.height + row) * shape.width;
  }

  Element* target;
  StoredShape shape;
};

/// Stores the pixels of a channel from number `from` on, converted.
template <typename Element, typename Convert>
void convert_row(Element* target, const uint8_t* rgb, int64_t c, int64_t from,
                 const StoredShape& shape, Convert convert) {
  if (shape.flips_horizontally) {
    for (int64_t x = from; x < shape.width; ++x) {
      target[shape.width - 1 - x] = convert(rgb[kChannels * x + c]);
    }
  } else {
    for (int64_t x = from; x < shape.width; ++x) {
      target[x] = convert(rgb[kChannels * x + c]);
    }
  }
}

class BytePlanes final : public PixelStore {
 public:
  BytePlanes(uint8_t* target, const StoredShape& shape) : rows_{target, shape} {}

  void put_row(int64_t y, const uint8_t* rgb) override {
    for (int64_t c = 0; c < kChannels; ++c) {
      convert_row(rows_.at(y, c), rgb, c, 0, rows_.shape, [](uint8_t byte) { return byte; });
    }
  }

 private:
  const PlaneRows<uint8_t> rows_;
};

class FloatPlanes final : public PixelStore {
 public:
  FloatPlanes(float* target, const StoredShape& shape, const Normalization& normalization)
      : rows_{target, shape}, normalization_(normalization) {}

  void put_row(int64_t y, const uint8_t* rgb) override {
    for (int64_t c = 0; c < kChannels; ++c) {
      const float* const table = normalization_.channel(static_cast<std::size_t>(c)).data();
      convert_row(rows_.at(y, c), rgb, c, vectors(y, rgb, c), rows_.shape,
                  [table](uint8_t byte) { return table[byte]; });
    }
  }

 private:
  /// Stores the first pixels of a channel with vector code; returns how many.
  [[nodiscard]] int64_t vectors([[maybe_unused]] int64_t y, [[maybe_unused]] const uint8_t* rgb,
                                [[maybe_unused]] int64_t c) const {
#ifdef TORCHFEED_NORMALIZE_AVX2
    if (has_avx2_) {
      const auto channel = static_cast<std::size_t>(c);
      return normalize_avx2(rows_.at(y, c), rgb + c, rows_.shape.width,
                            rows_.shape.flips_horizontally, rows_.shape.stores,
                            normalization_.mean()[channel], normalization_.std()[channel]);
    }
#endif
#ifdef TORCHFEED_NORMALIZE_NEON
    if (simd_level() > SimdLevel::kScalar) {
      const auto channel = static_cast<std::size_t>(c);
      return normalize_neon(rows_.at(y, c), rgb + c, rows_.shape.width,
                            rows_.shape.flips_horizontally, normalization_.mean()[channel],
                            normalization_.std()[channel]);
    }
#endif
    return 0;
  }

  const PlaneRows<float> rows_;
  const Normalization& normalization_;
#ifdef TORCHFEED_NORMALIZE_AVX2
  const bool has_avx2_ = has_avx2();
#endif
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

Normalization::Normalization(const std::array<float, 3>& mean, const std::array<float, 3>& std)
    : mean_(mean), std_(std) {
  constexpr float kScale = 1.0F / 255.0F;
  for (std::size_t c = 0; c < values_.size(); ++c) {
    for (std::size_t byte = 0; byte < values_[c].size(); ++byte) {
      const float scaled = static_cast<float>(byte) * kScale;
      values_[c][byte] = (scaled - mean[c]) / std[c];
    }
  }
}

std::unique_ptr<PixelStore> byte_planes(uint8_t* target, const StoredShape& shape) {
  return std::make_unique<BytePlanes>(target, shape);
}

std::unique_ptr<PixelStore> float_planes(float* target, const StoredShape& shape,
                                         const Normalization& normalization) {
  return std::make_unique<FloatPlanes>(target, shape, normalization);
}

std::unique_ptr<PixelStore> interleaved(const Pixels& pixels, bool flips_horizontally,
                                        bool flips_vertically) {
  return std::make_unique<Interleaved>(pixels, flips_horizontally, flips_vertically);
}

}  // namespace torchfeed
