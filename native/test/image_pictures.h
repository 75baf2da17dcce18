// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/image/pixels.h"

namespace torchfeed::testing {

/// A picture that owns its pixels.
struct Picture {
  Picture(int64_t picture_height, int64_t picture_width)
      : height(picture_height),
        width(picture_width),
        bytes(static_cast<size_t>(3 * height * width)) {}

  Pixels pixels() { return {bytes.data(), width, height}; }

  int64_t height;
  int64_t width;
  std::vector<uint8_t> bytes;
};

inline int64_t noise_at(int64_t place) {
  auto z = static_cast<uint32_t>(static_cast<uint64_t>(place + 1) * 2654435761U);
  z = (z ^ z >> 15) * 2246822519U;
  return z >> 24;
}

/// Returns the byte of a computed picture, as golden/image_steps.py computes it.
inline int64_t byte_at(const std::string& kind, int64_t width, int64_t y, int64_t x, int64_t c) {
  const int64_t pixel = y * width + x;
  const int64_t noise = noise_at(3 * pixel + c);
  if (kind == "noise") {
    return noise;
  }
  if (kind == "smooth") {
    return (x * (5 + c) + y * (3 + 2 * c)) / 4 + 60 * c;
  }
  if (kind == "dark") {
    return noise / 5 + 20 + 9 * c;
  }
  if (kind == "few") {
    return noise & 0xC0;
  }
  if (kind == "flat") {
    return 17 + 100 * c;
  }
  if (kind == "grey") {
    return noise_at(3 * pixel);
  }
  if (kind == "colours") {
    return (pixel >> (6 * c)) % 64 * 4 + (x + y) % 4;
  }
  throw std::invalid_argument("no picture of the kind " + kind);
}

inline Picture computed_picture(const std::string& kind, int64_t height, int64_t width) {
  Picture picture(height, width);
  auto byte = picture.bytes.begin();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        *byte++ = static_cast<uint8_t>(byte_at(kind, width, y, x, c));
      }
    }
  }
  return picture;
}

}  // namespace torchfeed::testing
