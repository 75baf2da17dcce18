// SPDX-License-Identifier: Apache-2.0
#include "core/crc32.h"

#include <array>
#include <cstddef>

namespace torchfeed {
namespace {

constexpr uint32_t kPolynomial = 0xedb88320;  // reflected

constexpr std::array<uint32_t, 256> remainders() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    }
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kRemainders = remainders();

}  // namespace

uint32_t crc32(std::span<const uint8_t> bytes, uint32_t before) {
  uint32_t crc = ~before;
  for (const uint8_t byte : bytes) {
    crc = (crc >> 8) ^ kRemainders[(crc ^ byte) & 0xff];
  }
  return ~crc;
}

}  // namespace torchfeed
