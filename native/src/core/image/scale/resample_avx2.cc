// SPDX-License-Identifier: Apache-2.0
#include "core/image/scale/resample_avx2.h"

#ifdef TORCHFEED_RESAMPLE_AVX2

#include <immintrin.h>

#include <cstddef>
#include <cstring>

#define TORCHFEED_AVX2 __attribute__((target("avx2")))

#include "core/image/scale/resample_axis.h"
#include "core/simd_level.h"

namespace torchfeed {
namespace {

constexpr int64_t kBytesAtOnce = 32;

/// Puts the bytes of 4 pixels into 16-bit pairs, pixels 0 and 1 into the low lane and pixels 2 and
/// 3 into the high one, each in the order red, green, blue.
TORCHFEED_AVX2 __m256i pairs_of_pixels(const uint8_t* pixels) {
  constexpr char kZero = -1;
  const __m256i order = _mm256_setr_epi8(
      0, kZero, 3, kZero, 1, kZero, 4, kZero, 2, kZero, 5, kZero, kZero, kZero, kZero, kZero,  //
      6, kZero, 9, kZero, 7, kZero, 10, kZero, 8, kZero, 11, kZero, kZero, kZero, kZero, kZero);
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), order);
}

/// Puts the weights 0 and 1 into each pair of the low lane, and 2 and 3 into each of the high one.
TORCHFEED_AVX2 __m256i pairs_of_weights(const int16_t* weights) {
  const __m256i order = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  const __m128i four = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(weights));
  return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(four), order);
}

/// Rounds sums of the high and low halves to pixels of 32 bits.
TORCHFEED_AVX2 __m256i rounded(__m256i high, __m256i low, bool is_split, __m256i half,
                               __m128i precision) {
  const __m256i sum =
      is_split ? _mm256_add_epi32(_mm256_slli_epi32(high, ResizeAxis::kHalfBits), low) : high;
  return _mm256_sra_epi32(_mm256_add_epi32(sum, half), precision);
}

TORCHFEED_AVX2 __m256i sum_of_lanes(__m256i sums) {
  return _mm256_add_epi32(sums, _mm256_permute2x128_si256(sums, sums, 1));
}

template <bool kIsSplit>
TORCHFEED_AVX2 void horizontal(uint8_t* target, const uint8_t* row, const ResizeAxis& axis) {
  const __m256i half = _mm256_set1_epi32(1 << (axis.precision - 1));
  const __m128i precision = _mm_cvtsi32_si128(axis.precision);
  const int16_t* high = axis.high.data();
  const int16_t* low = axis.low.data();
  for (const Taps& taps : axis.taps) {
    const uint8_t* pixels = row + std::ptrdiff_t{3} * taps.first;
    __m256i sums_high = _mm256_setzero_si256();
    __m256i sums_low = _mm256_setzero_si256();
    for (int32_t k = 0; k < taps.count; k += kTapsAtOnce) {
      const __m256i pairs = pairs_of_pixels(pixels + std::ptrdiff_t{3} * k);
      sums_high = _mm256_add_epi32(sums_high, _mm256_madd_epi16(pairs, pairs_of_weights(high + k)));
      if constexpr (kIsSplit) {
        sums_low = _mm256_add_epi32(sums_low, _mm256_madd_epi16(pairs, pairs_of_weights(low + k)));
      }
    }
    const __m256i values =
        rounded(sum_of_lanes(sums_high), sum_of_lanes(sums_low), kIsSplit, half, precision);
    const __m256i words = _mm256_packs_epi32(values, values);
    const int32_t pixel = _mm256_cvtsi256_si32(_mm256_packus_epi16(words, words));
    std::memcpy(target, &pixel, sizeof(pixel));  // the fourth byte is overwritten, or slack
    target += 3;
    high += axis.stride;
    if constexpr (kIsSplit) {
      low += axis.stride;
    }
  }
}

TORCHFEED_AVX2 __m256i load(const uint8_t* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}

TORCHFEED_AVX2 __m256i weight_pair(const int16_t* weights) {
  int32_t pair = 0;
  std::memcpy(&pair, weights, sizeof(pair));
  return _mm256_set1_epi32(pair);
}

template <bool kIsSplit>
TORCHFEED_AVX2 void vertical(uint8_t* target, const uint8_t* const* rows, const ResizeAxis& axis,
                             int64_t output, int64_t bytes) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i half = _mm256_set1_epi32(1 << (axis.precision - 1));
  const __m128i precision = _mm_cvtsi32_si128(axis.precision);
  const int16_t* const high = axis.high.data() + output * axis.stride;
  const int16_t* const low = kIsSplit ? axis.low.data() + output * axis.stride : nullptr;
  const int32_t count = axis.taps[static_cast<std::size_t>(output)].count;
  for (int64_t i = 0; i < bytes; i += kBytesAtOnce) {
    __m256i sums_high[] = {zero, zero, zero, zero};
    __m256i sums_low[] = {zero, zero, zero, zero};
    for (int32_t k = 0; k < count; k += 2) {
      const __m256i even = load(rows[k] + i);
      const __m256i odd = load(rows[k + 1] + i);
      const __m256i first = _mm256_unpacklo_epi8(even, odd);
      const __m256i second = _mm256_unpackhi_epi8(even, odd);
      const __m256i pairs[] = {_mm256_unpacklo_epi8(first, zero), _mm256_unpackhi_epi8(first, zero),
                               _mm256_unpacklo_epi8(second, zero),
                               _mm256_unpackhi_epi8(second, zero)};
      const __m256i weights = weight_pair(high + k);
      for (std::size_t part = 0; part < 4; ++part) {
        sums_high[part] =
            _mm256_add_epi32(sums_high[part], _mm256_madd_epi16(pairs[part], weights));
      }
      if constexpr (kIsSplit) {
        const __m256i low_weights = weight_pair(low + k);
        for (std::size_t part = 0; part < 4; ++part) {
          sums_low[part] =
              _mm256_add_epi32(sums_low[part], _mm256_madd_epi16(pairs[part], low_weights));
        }
      }
    }
    __m256i values[4];
    for (std::size_t part = 0; part < 4; ++part) {
      values[part] = rounded(sums_high[part], sums_low[part], kIsSplit, half, precision);
    }
    // Packing undoes the order of unpacking, which stayed within the lanes.
    const __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(values[0], values[1]),
                                               _mm256_packs_epi32(values[2], values[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + i), packed);
  }
}

}  // namespace

bool has_avx2() { return simd_level() >= SimdLevel::kAvx2 && __builtin_cpu_supports("avx2") != 0; }

void horizontal_avx2(uint8_t* target, const uint8_t* row, const ResizeAxis& axis) {
  axis.is_split() ? horizontal<true>(target, row, axis) : horizontal<false>(target, row, axis);
}

void vertical_avx2(uint8_t* target, const uint8_t* const* rows, const ResizeAxis& axis,
                   int64_t output, int64_t bytes) {
  axis.is_split() ? vertical<true>(target, rows, axis, output, bytes)
                  : vertical<false>(target, rows, axis, output, bytes);
}

}  // namespace torchfeed

#endif
