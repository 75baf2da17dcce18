// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/image/pixels.h"

namespace torchfeed::testing {

/// An image that owns its pixels.
struct Image {
  Image(int64_t image_height, int64_t image_width)
      : height(image_height), width(image_width), bytes(static_cast<size_t>(3 * height * width)) {}

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

/// A place in an image.
struct Place {
  int64_t x;
  int64_t y;
  int64_t c;
  int64_t pixel;
};

using Formula = int64_t (*)(const Place&);

/// Returns the formula of a computed image, the one in golden/image_steps.py; its result counts
/// modulo 256.
inline Formula formula_of(const std::string& kind) {
  static const std::map<std::string, Formula> formulas = {
      {"noise", [](const Place& at) { return noise_at(3 * at.pixel + at.c); }},
      {"smooth",
       [](const Place& at) { return (at.x * (5 + at.c) + at.y * (3 + 2 * at.c)) / 4 + 60 * at.c; }},
      {"dark", [](const Place& at) { return noise_at(3 * at.pixel + at.c) / 5 + 20 + 9 * at.c; }},
      {"few", [](const Place& at) { return noise_at(3 * at.pixel + at.c) & 0xC0; }},
      {"flat", [](const Place& at) { return 17 + 100 * at.c; }},
      {"grey", [](const Place& at) { return noise_at(3 * at.pixel); }},
      {"colours",  // as the golden file names it
       [](const Place& at) { return (at.pixel >> (6 * at.c)) % 64 * 4 + (at.x + at.y) % 4; }},
  };
  return formulas.at(kind);
}

inline Image computed_image(const std::string& kind, int64_t height, int64_t width) {
  const auto formula = formula_of(kind);
  Image image(height, width);
  auto byte = image.bytes.begin();
  for (int64_t pixel = 0; pixel < height * width; ++pixel) {
    for (int64_t c = 0; c < 3; ++c) {
      *byte++ = static_cast<uint8_t>(formula({pixel % width, pixel / width, c, pixel}));
    }
  }
  return image;
}

}  // namespace torchfeed::testing
