// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace torchfeed {

constexpr uint32_t kFloatMagnitude = 0x7FFFFFFF;
constexpr uint32_t kFloatInfinity = 0x7F800000;

/// Returns the bits of the nearest float16, to even if two are as near; a NaN keeps its sign and
/// upper bits, as the instructions of x86 do it.
inline uint16_t float16_of(float number) {
  constexpr uint32_t kLeastInfinite = 0x477FF000;  // 65520, halfway beyond the largest float16
  constexpr uint32_t kLeastNormal = 0x38800000;    // 2^-14
  constexpr uint32_t kExponents = 0x38000000;      // difference of the biases
  constexpr uint32_t kHalf = 0x3F000000;           // 0.5, whose last bit counts 2^-24
  constexpr int kLost = 13;
  const auto bits = std::bit_cast<uint32_t>(number);
  const uint32_t magnitude = bits & kFloatMagnitude;
  uint32_t result = 0x7C00;
  if (magnitude > kFloatInfinity) {
    result = 0x7E00 | ((magnitude >> kLost) & 0x3FF);
  } else if (magnitude < kLeastNormal) {
    result = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - kHalf;
  } else if (magnitude < kLeastInfinite) {
    result = (magnitude + 0xFFF + ((magnitude >> kLost) & 1) - kExponents) >> kLost;
  }
  return static_cast<uint16_t>(((bits >> 16) & 0x8000) | result);
}

/// Returns the bits of the nearest bfloat16, to even if two are as near; each NaN is torch's.
inline uint16_t bfloat16_of(float number) {
  constexpr uint16_t kNan = 0x7FC0;
  const auto bits = std::bit_cast<uint32_t>(number);
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  return (bits & kFloatMagnitude) > kFloatInfinity ? kNan : static_cast<uint16_t>(rounded);
}

}  // namespace torchfeed
