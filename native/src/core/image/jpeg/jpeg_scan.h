// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/image/jpeg/jpeg_coefficients.h"

namespace torchfeed {

/// Thrown inside the reader of coefficients for a JPEG that it does not support.
struct UnsupportedJpeg {};

/// A Huffman table, to decode.
class HuffmanDecoder {
 public:
  /// @param counts   the number of codes of 1 to 16 bits
  /// @param symbols  of the codes, in ascending order
  /// @throws UnsupportedJpeg  if there are more codes than fit
  HuffmanDecoder(std::span<const uint8_t> counts, std::span<const uint8_t> symbols);

  /// A code at the front of 16 bits.
  struct Code {
    int bits;  // its length
    uint8_t symbol;
  };
  /// @throws UnsupportedJpeg  if no code begins so
  [[nodiscard]] Code first_code(uint32_t next_16_bits) const;

 private:
  std::array<uint32_t, 17> end_{};    // of each length: the code behind the last, as 16 bits
  std::array<uint32_t, 17> begin_{};  // of each length: the first code, as 16 bits
  std::array<std::size_t, 17> first_{};
  std::vector<uint8_t> symbols_;
};

/// A scan, as its header describes it.
struct JpegScan {
  struct Part {
    JpegComponent* component;
    const HuffmanDecoder* dc;  // may be null if the scan needs none
    const HuffmanDecoder* ac;
  };

  std::vector<Part> parts;
  bool is_progressive = false;
  std::size_t first = 0;  // of the coefficients
  std::size_t last = 0;
  int high = 0;  // bits of precision before, 0 in a first scan
  int low = 0;   // bits of precision still missing afterwards
  int64_t restart_interval = 0;
};

/// Decodes the entropy-coded data of a scan into the blocks of its components.
///
/// @param data  from behind the header of the scan on
/// @return the number of bytes read
/// @throws UnsupportedJpeg  if the data are damaged
std::size_t decode_scan(const JpegScan& scan, const JpegCoefficients& image,
                        std::span<const uint8_t> data);

}  // namespace torchfeed
