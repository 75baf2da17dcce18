// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace torchfeed {

constexpr std::size_t kBlockSize = 64;

/// The quantised coefficients of a block, in zigzag order.
using JpegBlock = std::array<int16_t, kBlockSize>;

/// One component of a JPEG and its blocks.
struct JpegComponent {
  [[nodiscard]] JpegBlock& block(int64_t x, int64_t y) {
    return blocks[static_cast<std::size_t>(y * stride + x)];
  }
  [[nodiscard]] const JpegBlock& block(int64_t x, int64_t y) const {
    return blocks[static_cast<std::size_t>(y * stride + x)];
  }

  uint8_t id = 0;
  int h = 1;  // sampling factors
  int v = 1;
  std::size_t quantisation = 0;  // the number of its table
  int64_t columns = 0;           // blocks that show the image
  int64_t rows = 0;
  int64_t stride = 0;  // blocks of a row with those that complete the last MCU
  std::vector<JpegBlock> blocks;
};

using QuantisationTable = std::array<uint16_t, kBlockSize>;  // in zigzag order

/// The content of a JPEG before the inverse transform: all that decides its pixels.
struct JpegCoefficients {
  int64_t width = 0;
  int64_t height = 0;
  int max_h = 1;
  int max_v = 1;
  int64_t mcus_across = 0;  // of a scan of all components
  int64_t mcus_down = 0;
  std::vector<JpegComponent> components;
  std::array<std::optional<QuantisationTable>, 4> tables{};
  std::vector<uint8_t> color_markers;  // JFIF and Adobe: decoders guess the colors from them
};

/// Reads the coefficients of a JPEG: Huffman coding of 8 bits, sequential or progressive.
///
/// @return nothing if the JPEG is of another kind, is damaged, or has more than 2^26 pixels
[[nodiscard]] std::optional<JpegCoefficients> read_coefficients(std::span<const uint8_t> jpeg);

}  // namespace torchfeed
