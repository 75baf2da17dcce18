// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/image/decode/other_sources.h"
#include "core/image/decode/whole_source.h"
#include "core/image/pixels.h"

namespace torchfeed {
namespace {

enum Compression : uint32_t { kRaw = 0, kRuns8 = 1, kRuns4 = 2, kBitFields = 3 };

constexpr uint32_t kCoreHeader = 12;
constexpr uint32_t kHeaderWithMasks = 52;

std::string number(uint32_t value) { return std::to_string(value); }

class BmpSource final : public WholeSource {
 public:
  BmpSource(std::span<const uint8_t> encoded, int64_t max_pixels) : bytes_(encoded, "BMP") {
    bytes_.go_to(10);
    pixels_at_ = bytes_.little(4);
    const uint32_t header = bytes_.little(4);
    read_size(header, max_pixels);
    read_masks(header);
    if (bits_ <= 8) {
      read_palette(header);
    }
    if (pixels_at_ == 0) {
      pixels_at_ = bytes_.position();
    }
  }

 private:
  void read_size(uint32_t header, int64_t max_pixels) {
    int64_t width = 0;
    int64_t height = 0;
    if (header == kCoreHeader) {
      width = bytes_.little(2);
      height = bytes_.little(2);
      bytes_.little(2);
      bits_ = bytes_.little(2);
    } else if (header == 40 || header == kHeaderWithMasks || header == 56 || header == 64 ||
               header == 108 || header == 124) {
      width = bytes_.little(4);
      height = bytes_.little(4);
      is_from_top_ = height >> 24 == 0xff;
      height = is_from_top_ ? (int64_t{1} << 32) - height : height;
      bytes_.little(2);
      bits_ = bytes_.little(2);
      compression_ = bytes_.little(4);
      bytes_.take(12);
      colors_ = bytes_.little(4);
      bytes_.little(4);
    } else {
      throw_unsupported("the header of a BMP must have 12, 40, 52, 56, 64, 108 or 124 bytes, got " +
                        number(header));
    }
    set_size(width, height, max_pixels);
    if (bits_ != 1 && bits_ != 4 && bits_ != 8 && bits_ != 16 && bits_ != 24 && bits_ != 32) {
      throw_unsupported("a BMP must have 1, 4, 8, 16, 24 or 32 bits for each pixel, got " +
                        number(bits_));
    }
    const bool has_runs =
        (compression_ == kRuns8 && bits_ == 8) || (compression_ == kRuns4 && bits_ == 4);
    if (compression_ != kRaw && compression_ != kBitFields && !has_runs) {
      throw_unsupported(
          "a BMP must be raw, run-length encoded or of bit fields, got the compression " +
          number(compression_) + " with " + number(bits_) + " bits for each pixel");
    }
  }

  void read_masks(uint32_t header) {
    if (compression_ == kBitFields) {
      const std::array<uint32_t, 3> masks{bytes_.little(4), bytes_.little(4), bytes_.little(4)};
      if (bits_ == 16 && masks == std::array<uint32_t, 3>{0xf800, 0x7e0, 0x1f}) {
        is_565_ = true;
      } else if (bits_ == 32 && masks != std::array<uint32_t, 3>{0, 0, 0}) {
        take_bytes(masks);
      } else if (!(bits_ == 16 && masks == std::array<uint32_t, 3>{0x7c00, 0x3e0, 0x1f}) &&
                 !(bits_ == 24 && masks == std::array<uint32_t, 3>{0xff0000, 0xff00, 0xff}) &&
                 bits_ != 32) {
        refuse_masks();
      }
    }
    // Only the masks stand behind a header of 40 bytes.
    bytes_.go_to(14 + header + (compression_ == kBitFields && header == 40 ? 12 : 0));
  }

  void take_bytes(const std::array<uint32_t, 3>& masks) {
    for (std::size_t c = 0; c < masks.size(); ++c) {
      const std::array<uint32_t, 4> of_byte{0xff, 0xff00, 0xff0000, 0xff000000};
      const auto found = std::find(of_byte.begin(), of_byte.end(), masks[c]);
      if (found == of_byte.end()) {
        refuse_masks();
      }
      byte_of_[c] = static_cast<std::size_t>(found - of_byte.begin());
    }
  }

  [[noreturn]] static void refuse_masks() {
    throw_unsupported("the bit fields of a BMP must be bytes, or 5, 5 or 6, and 5 bits");
  }

  void read_palette(uint32_t header) {
    const std::size_t entry = header == kCoreHeader ? 3 : 4;
    if (colors_ == 0) {
      colors_ = 1U << bits_;
    }
    if (colors_ > palette_.size()) {
      throw_unsupported("a BMP must have at most 256 colors, got " + number(colors_));
    }
    if (pixels_at_ == 14 + header) {
      pixels_at_ += entry * colors_;
    }
    for (std::size_t i = 0; i < colors_; ++i) {
      const auto color = bytes_.take(entry);
      palette_[i] = {color[2], color[1], color[0]};
    }
    complete(palette_, colors_);
  }

  void decode(uint8_t* rgb) override {
    bytes_.go_to(pixels_at_);
    if (compression_ == kRuns8 || compression_ == kRuns4) {
      decode_runs(rgb);
      return;
    }
    const auto stride = static_cast<std::size_t>((width() * bits_ + 31) / 32 * 4);
    for (int64_t y = 0; y < height(); ++y) {
      const auto row = bytes_.take(stride);
      uint8_t* const target = row_of(rgb, y);
      for (int64_t x = 0; x < width(); ++x) {
        put(row, static_cast<std::size_t>(x), target + kChannels * x);
      }
    }
  }

  uint8_t* row_of(uint8_t* rgb, int64_t stored) const {
    return rgb + kChannels * width() * (is_from_top_ ? stored : height() - 1 - stored);
  }

  void put(std::span<const uint8_t> row, std::size_t x, uint8_t* rgb) const {
    if (bits_ <= 8) {
      const std::size_t shift = 8 - bits_ - x * bits_ % 8;
      const std::size_t index = row[x * bits_ / 8] >> shift & ((1U << bits_) - 1);
      std::copy_n(palette_[index].begin(), 3, rgb);
    } else if (bits_ == 16) {
      const unsigned pixel = row[2 * x] | row[2 * x + 1] << 8;
      const unsigned red = pixel >> (is_565_ ? 11 : 10) & 31;
      const unsigned green = pixel >> 5 & (is_565_ ? 63 : 31);
      rgb[0] = static_cast<uint8_t>(red * 255 / 31);
      rgb[1] = static_cast<uint8_t>(green * 255 / (is_565_ ? 63 : 31));
      rgb[2] = static_cast<uint8_t>((pixel & 31) * 255 / 31);
    } else {
      for (std::size_t c = 0; c < byte_of_.size(); ++c) {
        rgb[c] = row[x * bits_ / 8 + byte_of_[c]];
      }
    }
  }

  /// As Pillow's `BmpRleDecoder`, which cuts runs at the end of a row, but not of single pixels.
  void decode_runs(uint8_t* rgb) {
    const auto pixels = static_cast<std::size_t>(width() * height());
    const auto across = static_cast<std::size_t>(width());
    std::vector<uint8_t> indices;
    indices.reserve(pixels);
    std::size_t x = 0;
    while (indices.size() < pixels) {
      const std::size_t run = bytes_.byte();
      const uint8_t value = bytes_.byte();
      if (run > 0) {
        const std::size_t count = std::min(run, across - std::min(x, across));
        for (std::size_t i = 0; i < count; ++i) {
          indices.push_back(index_of(value, i));
        }
        x += count;
      } else if (value == 0) {
        indices.resize((indices.size() + across - 1) / across * across);
        x = 0;
      } else if (value == 1) {
        throw_damaged("the run-length encoded BMP ends before its last row");
      } else if (value == 2) {
        const std::size_t right = bytes_.byte();
        const std::size_t up = bytes_.byte();
        indices.resize(std::min(pixels, indices.size() + right + up * across));
        x = indices.size() % across;
      } else {
        take_pixels(std::min<std::size_t>(pixels - indices.size(), value), indices);
        x += value;
      }
    }
    for (std::size_t i = 0; i < pixels; ++i) {
      uint8_t* const row = row_of(rgb, static_cast<int64_t>(i / across));
      std::copy_n(palette_[indices[i]].begin(), 3, row + 3 * (i % across));
    }
  }

  [[nodiscard]] uint8_t index_of(uint8_t value, std::size_t i) const {
    return static_cast<uint8_t>(compression_ == kRuns8 ? value
                                : i % 2 == 0           ? value >> 4
                                                       : value & 15);
  }

  void take_pixels(std::size_t count, std::vector<uint8_t>& indices) {
    const auto values = bytes_.take(compression_ == kRuns4 ? (count + 1) / 2 : count);
    for (std::size_t i = 0; i < count; ++i) {
      indices.push_back(index_of(values[compression_ == kRuns4 ? i / 2 : i], i));
    }
    if (bytes_.position() % 2 != 0 && !bytes_.at_end()) {
      bytes_.byte();
    }
  }

  EncodedBytes bytes_;
  std::size_t pixels_at_ = 0;
  uint32_t bits_ = 0;
  uint32_t compression_ = kRaw;
  uint32_t colors_ = 0;
  bool is_from_top_ = false;
  bool is_565_ = false;
  std::array<std::size_t, 3> byte_of_{2, 1, 0};  // of red, green and blue in a pixel
  Palette palette_{};
};

}  // namespace

std::unique_ptr<ImageSource> open_bmp(std::span<const uint8_t> encoded, int64_t max_pixels) {
  return std::make_unique<BmpSource>(encoded, max_pixels);
}

}  // namespace torchfeed
