// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/image/decode/image_source.h"

namespace torchfeed {

/// An image that is decoded as a whole once its region is chosen.
class WholeSource : public ImageSource {
 public:
  [[nodiscard]] int64_t width() const final { return width_; }
  [[nodiscard]] int64_t height() const final { return height_; }
  void begin(const Region& region) final;
  const uint8_t* next_row() final;

 protected:
  /// Sets the size, which must not exceed `max_pixels`.
  void set_size(int64_t width, int64_t height, int64_t max_pixels);

 private:
  /// Decodes all rows from the top one on, interleaved red, green and blue; they are 0 before.
  virtual void decode(uint8_t* rgb) = 0;

  int64_t width_ = 0;
  int64_t height_ = 0;
  std::vector<uint8_t> pixels_;
  std::size_t next_ = 0;  // offset of the next row of the region
};

/// Red, green and blue by index.
using Palette = std::array<std::array<uint8_t, 3>, 256>;

/// Returns a palette of gray values, which stand for themselves.
inline Palette gray_palette() {
  Palette palette{};
  for (std::size_t i = 0; i < palette.size(); ++i) {
    palette[i].fill(static_cast<uint8_t>(i));
  }
  return palette;
}

/// Makes the indices from `colors` on black, unless all before them are gray values that stand for
/// themselves: then the others do so, too.
inline void complete(Palette& palette, std::size_t colors) {
  const Palette gray = gray_palette();
  if (!std::equal(palette.begin(), palette.begin() + static_cast<std::ptrdiff_t>(colors),
                  gray.begin())) {
    std::fill(palette.begin() + static_cast<std::ptrdiff_t>(colors), palette.end(),
              std::array<uint8_t, 3>{});
  } else {
    palette = gray;
  }
}

/// Writes a gray pixel.
inline void put_gray(uint8_t* rgb, uint8_t gray) {
  rgb[0] = gray;
  rgb[1] = gray;
  rgb[2] = gray;
}

/// Returns a byte for a gray value of 16 bits.
inline uint8_t narrowed(unsigned value, bool clips) {
  return static_cast<uint8_t>(clips ? (value > 255 ? 255 : value) : value >> 8);
}

/// Encoded bytes, read one after another; behind their end, throws the error of a cut image.
class EncodedBytes {
 public:
  /// @param kind  of the image, for messages
  EncodedBytes(std::span<const uint8_t> bytes, std::string kind)
      : bytes_(bytes), kind_(std::move(kind)) {}

  uint8_t byte() { return take(1)[0]; }
  /// Returns a number of which the lowest of its `bytes` bytes comes first.
  uint32_t little(int bytes);
  std::span<const uint8_t> take(std::size_t count);
  void go_to(std::size_t position) { at_ = position; }

  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] bool at_end() const { return at_ >= bytes_.size(); }

 private:
  std::span<const uint8_t> bytes_;
  std::string kind_;
  std::size_t at_ = 0;
};

}  // namespace torchfeed
