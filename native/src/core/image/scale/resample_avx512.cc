// SPDX-License-Identifier: Apache-2.0
#include "core/image/scale/resample_avx512.h"

#ifdef TORCHFEED_RESAMPLE_AVX512

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 takes the undefined vectors of its own header for a mistake.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <cstddef>

#include "core/image/pixels.h"
#include "core/image/scale/resample_avx2.h"
#include "core/image/scale/resample_axis.h"
#include "core/simd_level.h"

#define TORCHFEED_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")))

namespace torchfeed {
namespace {

// A weight is the sum of 3 digits of 8 bits with a sign, which are multiplied with bytes one by
// one.
constexpr int kDigitBits = 8;
constexpr std::size_t kDigits = 3;
constexpr std::size_t kOutputsAtOnce = 4;
constexpr int64_t kBytesAtOnce = 64;

int64_t blocks_of(const ResizeAxis& axis) { return axis.stride / kTapsAtOnce; }

/// Place of the digits of 4 weights: number `digit` of an output, from tap `4 * block` on.
std::size_t place(const ResizeAxis& axis, std::size_t output, int64_t block, std::size_t digit) {
  const auto blocks = static_cast<std::size_t>(blocks_of(axis));
  const std::size_t group = output / kOutputsAtOnce * blocks + static_cast<std::size_t>(block);
  return (group * kDigits + digit) * kOutputsAtOnce + output % kOutputsAtOnce;
}

void prepare_digits(ResizeAxis& axis) {
  const std::size_t outputs = axis.taps.size();
  const std::size_t groups = (outputs + kOutputsAtOnce - 1) / kOutputsAtOnce;
  axis.digits.assign(place(axis, groups * kOutputsAtOnce, 0, 0), 0);
  std::size_t at = 0;
  for (std::size_t output = 0; output < outputs; ++output) {
    for (int64_t block = 0; block < blocks_of(axis); ++block) {
      uint32_t* const target = axis.digits.data() + place(axis, output, block, 0);
      for (unsigned tap = 0; tap < kTapsAtOnce; ++tap, ++at) {
        int32_t rest = axis.is_split() ? axis.high[at] * (1 << ResizeAxis::kHalfBits) + axis.low[at]
                                       : axis.high[at];
        for (std::size_t digit = 0; digit < kDigits; ++digit) {
          const auto low = static_cast<int8_t>(rest);
          rest = (rest - low) >> kDigitBits;
          target[digit * kOutputsAtOnce] |= uint32_t{static_cast<uint8_t>(low)}
                                            << (tap * kDigitBits);
        }
      }
    }
  }
}

/// Computes which bytes of 64, from the first pixel of 4 outputs on, the outputs need. Leaves no
/// groups if some are farther away.
void prepare_groups(ResizeAxis& axis) {
  const std::size_t outputs = axis.taps.size();
  axis.groups.clear();
  axis.groups.reserve(outputs / kOutputsAtOnce + 1);
  for (std::size_t begin = 0; begin < outputs; begin += kOutputsAtOnce) {
    ResizeAxis::Group& group = axis.groups.emplace_back();
    uint8_t* lane = group.order.data();
    for (std::size_t i = 0; i < kOutputsAtOnce; ++i) {
      const Taps& taps = axis.taps[std::min(begin + i, outputs - 1)];
      const int64_t first = taps.first - axis.taps[begin].first;
      if (kChannels * (first + kTapsAtOnce) > kBytesAtOnce) {
        axis.groups.clear();
        return;
      }
      group.blocks =
          std::max(group.blocks, (taps.count + int32_t{kTapsAtOnce} - 1) / int32_t{kTapsAtOnce});
      for (int64_t channel = 0; channel < kChannels; ++channel) {
        for (int64_t tap = 0; tap < kTapsAtOnce; ++tap) {
          *lane++ = static_cast<uint8_t>(kChannels * (first + tap) + channel);
        }
      }
      lane += kTapsAtOnce;  // a fourth channel, whose sum is not stored
    }
  }
}

/// Adds the sums of the digits, each shifted to its place, and rounds.
TORCHFEED_AVX512 __m512i rounded(const __m512i* sums, __m512i half, __m128i precision) {
  const __m512i high = _mm512_add_epi32(_mm512_slli_epi32(sums[1], kDigitBits),
                                        _mm512_slli_epi32(sums[2], 2 * kDigitBits));
  const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(sums[0], half), high);
  return _mm512_max_epi32(_mm512_sra_epi32(sum, precision), _mm512_setzero_si512());
}

TORCHFEED_AVX512 void horizontal(uint8_t* target, const uint8_t* row, const ResizeAxis& axis) {
  const __m512i half = _mm512_set1_epi32(1 << (axis.precision - 1));
  const __m128i precision = _mm_cvtsi32_si128(axis.precision);
  const __m512i to_lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  const __m128i without_fourth =
      _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const Taps* taps = axis.taps.data();
  for (std::size_t i = 0; i < axis.groups.size(); ++i) {
    const ResizeAxis::Group& group = axis.groups[i];
    const uint8_t* const pixels = row + kChannels * taps[kOutputsAtOnce * i].first;
    const uint32_t* digits = axis.digits.data() + place(axis, kOutputsAtOnce * i, 0, 0);
    const __m512i order = _mm512_loadu_si512(group.order.data());
    __m512i sums[kDigits] = {_mm512_setzero_si512(), _mm512_setzero_si512(),
                             _mm512_setzero_si512()};
    for (int64_t block = 0; block < group.blocks; ++block) {
      const __m512i bytes = _mm512_permutexvar_epi8(
          order, _mm512_loadu_si512(pixels + kChannels * kTapsAtOnce * block));
      for (std::size_t digit = 0; digit < kDigits; ++digit) {
        const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(digits));
        sums[digit] = _mm512_dpbusd_epi32(
            sums[digit], bytes, _mm512_permutexvar_epi32(to_lanes, _mm512_castsi128_si512(four)));
        digits += kOutputsAtOnce;
      }
    }
    const __m128i four = _mm512_cvtusepi32_epi8(rounded(sums, half, precision));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target), _mm_shuffle_epi8(four, without_fourth));
    target += kChannels * kOutputsAtOnce;
  }
}

}  // namespace

bool has_avx512_bytes() {
  return simd_level() >= SimdLevel::kAvx512 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vbmi") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
}

void prepare_avx512(ResizeAxis& axis) {
  prepare_digits(axis);
  prepare_groups(axis);
}

void horizontal_avx512(uint8_t* target, const uint8_t* row, const ResizeAxis& axis) {
  if (axis.groups.empty()) {
    horizontal_avx2(target, row, axis);
  } else {
    horizontal(target, row, axis);
  }
}

TORCHFEED_AVX512 void vertical_avx512(uint8_t* target, const uint8_t* const* rows,
                                      const ResizeAxis& axis, int64_t output, int64_t bytes) {
  const __m512i half = _mm512_set1_epi32(1 << (axis.precision - 1));
  const __m128i precision = _mm_cvtsi32_si128(axis.precision);
  const auto number = static_cast<std::size_t>(output);
  const int32_t count = axis.taps[number].count;
  for (int64_t i = 0; i < bytes; i += kBytesAtOnce) {
    __m512i sums[4][kDigits] = {};
    for (int64_t k = 0; k < count; k += kTapsAtOnce) {
      const __m512i first = _mm512_loadu_si512(rows[k] + i);
      const __m512i second = _mm512_loadu_si512(rows[k + 1] + i);
      const __m512i third = _mm512_loadu_si512(rows[k + 2] + i);
      const __m512i fourth = _mm512_loadu_si512(rows[k + 3] + i);
      const __m512i low = _mm512_unpacklo_epi8(first, second);
      const __m512i high = _mm512_unpackhi_epi8(first, second);
      const __m512i next_low = _mm512_unpacklo_epi8(third, fourth);
      const __m512i next_high = _mm512_unpackhi_epi8(third, fourth);
      const __m512i quads[4] = {
          _mm512_unpacklo_epi16(low, next_low), _mm512_unpackhi_epi16(low, next_low),
          _mm512_unpacklo_epi16(high, next_high), _mm512_unpackhi_epi16(high, next_high)};
      for (std::size_t digit = 0; digit < kDigits; ++digit) {
        const __m512i weights = _mm512_set1_epi32(
            static_cast<int32_t>(axis.digits[place(axis, number, k / kTapsAtOnce, digit)]));
        for (std::size_t part = 0; part < 4; ++part) {
          sums[part][digit] = _mm512_dpbusd_epi32(sums[part][digit], quads[part], weights);
        }
      }
    }
    // Packing undoes the order of unpacking, which stayed within the lanes.
    const __m512i packed = _mm512_packus_epi16(
        _mm512_packs_epi32(rounded(sums[0], half, precision), rounded(sums[1], half, precision)),
        _mm512_packs_epi32(rounded(sums[2], half, precision), rounded(sums[3], half, precision)));
    _mm512_storeu_si512(target + i, packed);
  }
}

}  // namespace torchfeed

#endif
