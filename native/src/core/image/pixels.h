// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace torchfeed {

/// Bytes of a pixel: red, green and blue.
constexpr int64_t kChannels = 3;

/// Multiplies two fractions of 255, rounded.
inline uint8_t product(uint8_t a, uint8_t b) {
  const int scaled = a * b + 128;
  return static_cast<uint8_t>(((scaled >> 8) + scaled) >> 8);
}

/// A borrowed image: interleaved RGB bytes in dense rows, from the top left corner.
struct Pixels {
  uint8_t* data;
  int64_t width;
  int64_t height;
};

}  // namespace torchfeed
