// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "core/image/decode/other_sources.h"
#include "core/image/decode/whole_source.h"
#include "core/image/pixels.h"

namespace torchfeed {
namespace {

constexpr std::size_t kMostDigits = 10;
constexpr unsigned kMostByte = 255;
constexpr unsigned kMostWord = 65535;

bool is_space(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

class PnmSource final : public WholeSource {
 public:
  PnmSource(std::span<const uint8_t> encoded, const DecodeOptions& options)
      : bytes_(encoded, "PNM"), clips_gray16_(options.clips_gray16) {
    bytes_.byte();
    const uint8_t kind = bytes_.byte();
    is_text_ = kind <= '3';
    is_bits_ = kind == '1' || kind == '4';
    is_rgb_ = kind == '3' || kind == '6';
    bytes_.byte();
    const int64_t width = number();
    set_size(width, number(), options.max_pixels);
    if (!is_bits_) {
      most_ = number();
      if (most_ == 0 || most_ > kMostWord) {
        throw_damaged("the largest value of a PNM must be in [1, 65535], got " +
                      std::to_string(most_));
      }
    }
  }

 private:
  /// Reads a number and the white space behind it. A comment may stand anywhere, also in a number.
  unsigned number() {
    uint64_t value = 0;
    std::size_t digits = 0;
    while (digits == 0 || !bytes_.at_end()) {
      const uint8_t byte = bytes_.byte();
      if (is_space(byte)) {
        if (digits > 0) {
          break;
        }
      } else if (byte == '#') {
        pass_comment();
      } else if (byte < '0' || byte > '9' || ++digits > kMostDigits) {
        throw_damaged("the numbers of a PNM must have 1 to 10 decimal digits");
      } else {
        value = 10 * value + byte - '0';
      }
    }
    if (value > INT32_MAX) {
      throw_damaged("the numbers of a PNM must be at most 2147483647, got " +
                    std::to_string(value));
    }
    return static_cast<unsigned>(value);
  }

  void pass_comment() {
    while (!bytes_.at_end()) {
      const uint8_t byte = bytes_.byte();
      if (byte == '\n' || byte == '\r') {
        return;
      }
    }
  }

  void decode(uint8_t* rgb) override {
    const int64_t pixels = width() * height();
    if (is_bits_) {
      is_text_ ? decode_digits(rgb, pixels) : decode_bits(rgb);
      return;
    }
    const bool is_wide = most_ > kMostByte;
    for (int64_t i = 0; i < pixels; ++i, rgb += kChannels) {
      if (is_rgb_) {
        for (int64_t c = 0; c < kChannels; ++c) {
          rgb[c] = static_cast<uint8_t>(scaled(sample(), kMostByte));
        }
      } else {
        const unsigned value = scaled(sample(), is_wide ? kMostWord : kMostByte);
        put_gray(rgb, is_wide ? narrowed(value, clips_gray16_) : static_cast<uint8_t>(value));
      }
    }
  }

  void decode_digits(uint8_t* rgb, int64_t pixels) {
    for (int64_t i = 0; i < pixels;) {
      const uint8_t byte = bytes_.byte();
      if (byte == '#') {
        pass_comment();
      } else if (byte == '0' || byte == '1') {
        put_gray(rgb + kChannels * i++, byte == '0' ? kMostByte : 0);
      } else if (!is_space(byte)) {
        throw_damaged("the pixels of a PBM in text must be 0 or 1");
      }
    }
  }

  void decode_bits(uint8_t* rgb) {
    const auto stride = static_cast<std::size_t>((width() + 7) / 8);
    for (int64_t y = 0; y < height(); ++y) {
      const auto row = bytes_.take(stride);
      for (int64_t x = 0; x < width(); ++x, rgb += kChannels) {
        const bool is_black = (row[static_cast<std::size_t>(x / 8)] >> (7 - x % 8) & 1) != 0;
        put_gray(rgb, is_black ? 0 : kMostByte);
      }
    }
  }

  unsigned sample() {
    if (is_text_) {
      const unsigned value = number();
      if (value > most_) {
        throw_damaged("a sample of the PNM must be at most " + std::to_string(most_) + ", got " +
                      std::to_string(value));
      }
      return value;
    }
    const unsigned first = bytes_.byte();
    return most_ > kMostByte ? first << 8 | bytes_.byte() : first;
  }

  /// Returns a sample on the scale up to `to`, rounded as Python's `round` does.
  [[nodiscard]] unsigned scaled(unsigned value, unsigned to) const {
    if (most_ == to) {
      return value;
    }
    const double exact = static_cast<double>(value) / most_ * to;
    return std::min(to, static_cast<unsigned>(std::nearbyint(exact)));
  }

  EncodedBytes bytes_;
  const bool clips_gray16_;
  bool is_text_ = false;
  bool is_bits_ = false;
  bool is_rgb_ = false;
  unsigned most_ = 1;
};

}  // namespace

bool is_pnm(std::span<const uint8_t> encoded) {
  return encoded.size() > 2 && encoded[0] == 'P' && encoded[1] >= '1' && encoded[1] <= '6' &&
         is_space(encoded[2]);
}

std::unique_ptr<ImageSource> open_pnm(std::span<const uint8_t> encoded,
                                      const DecodeOptions& options) {
  return std::make_unique<PnmSource>(encoded, options);
}

}  // namespace torchfeed
