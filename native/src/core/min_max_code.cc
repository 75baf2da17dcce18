// SPDX-License-Identifier: Apache-2.0
#include "core/min_max_code.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace torchfeed {
namespace {

constexpr int64_t kUnit = 32;
constexpr int64_t kLanes = 16;
constexpr float kSmallestRange = 1e-7F;
constexpr float kLastLevel = 255;

/// The beginning of the code of numbers.
struct Range {
  float min;
  float max;
};

/// The levels of a range, as both sides compute them.
struct Levels {
  explicit Levels(Range range)
      : scale(static_cast<float>(255.0 /
                                 static_cast<double>((range.max - range.min) + kSmallestRange))),
        upper(std::rint(range.max * scale)),
        lower(upper - kLastLevel) {}

  float scale;
  float upper;
  float lower;
};

/// As `std::rint`, which is a call of a function where the processor may lack the instruction.
float round_to_even(float number) {
  constexpr float kNoFraction = 8388608.0F;  // 2^23
  const float shift = std::copysign(kNoFraction, number);
  const float rounded = (number + shift) - shift;
  return std::abs(number) < kNoFraction ? rounded : number;
}

// The lanes make this a loop over vectors; a plain minimum has a fixed order.
Range range_of(const float* numbers, int64_t count) {
  std::array<float, kLanes> min;
  std::array<float, kLanes> max;
  std::array<float, kLanes> finite{};  // stays 0 until there is NaN or an infinity
  min.fill(numbers[0]);
  max.fill(numbers[0]);
  const auto visit = [&](float number, size_t lane) {
    min[lane] = number < min[lane] ? number : min[lane];
    max[lane] = max[lane] < number ? number : max[lane];
    finite[lane] += number * 0.0F;
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      visit(numbers[static_cast<size_t>(i) + lane], lane);
    }
  }
  for (; i < count; ++i) {
    visit(numbers[i], 0);
  }
  if (!std::all_of(finite.begin(), finite.end(), [](float sum) { return sum == 0; })) {
    return {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()};
  }
  return {*std::min_element(min.begin(), min.end()), *std::max_element(max.begin(), max.end())};
}

Levels levels_of(const uint8_t* code) {
  Range range{};
  std::memcpy(&range, code, sizeof(range));
  return Levels(range);
}

}  // namespace

int64_t min_max_code_bytes(int64_t count) { return kUnit + (count + kUnit - 1) / kUnit * kUnit; }

void encode_min_max(const float* numbers, int64_t count, uint8_t* code) {
  std::memset(code, 0, static_cast<size_t>(min_max_code_bytes(count)));
  if (count == 0) {
    return;
  }
  const Range range = range_of(numbers, count);
  std::memcpy(code, &range, sizeof(range));
  const Levels levels(range);
  uint8_t* bytes = code + kUnit;
  for (int64_t i = 0; i < count; ++i) {
    const float rounded = round_to_even(numbers[i] * levels.scale);
    const float level = (rounded < levels.upper ? rounded : levels.upper) - levels.lower;
    // Of NaN, the comparison makes 0, whose conversion is defined. Beyond the last level, Bagua's
    // code wraps: at most where the range is as small as the rounding of `lower`.
    bytes[i] = static_cast<uint8_t>(static_cast<int32_t>(level > 0 ? level : 0));
  }
}

void decode_min_max(const uint8_t* code, int64_t count, float* numbers) {
  const Levels levels = levels_of(code);
  for (int64_t i = 0; i < count; ++i) {
    numbers[i] = (static_cast<float>(code[kUnit + i]) + levels.lower) / levels.scale;
  }
}

void decode_min_max_onto(const uint8_t* code, int64_t count, float* numbers) {
  const Levels levels = levels_of(code);
  for (int64_t i = 0; i < count; ++i) {
    numbers[i] += (static_cast<float>(code[kUnit + i]) + levels.lower) / levels.scale;
  }
}

}  // namespace torchfeed
