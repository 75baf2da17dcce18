// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace torchfeed {

/// A Huffman table as a JPEG stores it, and its codes.
struct HuffmanEncoder {
  struct Code {
    uint32_t value = 0;
    int bits = 0;  // 0 if the symbol has no code
  };

  std::array<uint8_t, 16> counts{};  // of codes of 1 to 16 bits
  std::vector<uint8_t> symbols;      // of the codes, in ascending order
  std::array<Code, 256> codes{};     // by symbol
};

/// Returns the table with which symbols of these frequencies take the fewest bits, without codes of
/// more than 16 bits or of ones only, which JPEG does not have.
///
/// Package-merge (Larmore, Hirschberg 1990), with a further symbol of frequency 0 that takes the
/// code of ones.
[[nodiscard]] HuffmanEncoder optimal_huffman(const std::array<uint64_t, 256>& frequencies);

}  // namespace torchfeed
