// SPDX-License-Identifier: Apache-2.0
#include "core/image/scale/resample_neon.h"

#ifdef TORCHFEED_RESAMPLE_NEON

#include <arm_neon.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace torchfeed {
namespace {

constexpr int64_t kBytesAtOnce = 16;

/// The numbers of 4 bytes each of 16 bytes.
using Sums = std::array<int32x4_t, 4>;

/// A weight as one number, which takes more than 16 bits if it is split.
template <bool kIsSplit>
int32_t weight_of(const int16_t* high, const int16_t* low, int32_t k) {
  if constexpr (kIsSplit) {
    return high[k] * (1 << ResizeAxis::kHalfBits) + low[k];
  }
  return high[k];
}

/// Adds 4 bytes times a weight.
template <bool kIsSplit>
int32x4_t plus(int32x4_t sum, int16x4_t bytes, int32_t weight) {
  if constexpr (kIsSplit) {
    return vmlaq_n_s32(sum, vmovl_s16(bytes), weight);
  }
  return vmlal_n_s16(sum, bytes, static_cast<int16_t>(weight));
}

template <bool kIsSplit>
void horizontal(uint8_t* target, const uint8_t* row, const ResizeAxis& axis) {
  const int32x4_t half = vdupq_n_s32(1 << (axis.precision - 1));
  const int32x4_t shift = vdupq_n_s32(-axis.precision);
  const int16_t* high = axis.high.data();
  const int16_t* low = axis.low.data();
  for (const Taps& taps : axis.taps) {
    const uint8_t* pixels = row + std::ptrdiff_t{3} * taps.first;
    int32x4_t even = half;
    int32x4_t odd = vdupq_n_s32(0);
    const auto pixel = [&](int32_t k) {
      const uint8x8_t bytes = vld1_u8(pixels + std::ptrdiff_t{3} * k);
      return vget_low_s16(vreinterpretq_s16_u16(vmovl_u8(bytes)));
    };
    for (int32_t k = 0; k < taps.count; k += 2) {  // a weight behind the last one is 0
      even = plus<kIsSplit>(even, pixel(k), weight_of<kIsSplit>(high, low, k));
      odd = plus<kIsSplit>(odd, pixel(k + 1), weight_of<kIsSplit>(high, low, k + 1));
    }
    const int16x4_t words = vqmovn_s32(vshlq_s32(vaddq_s32(even, odd), shift));
    const uint8x8_t rounded = vqmovun_s16(vcombine_s16(words, words));
    const uint32_t four = vget_lane_u32(vreinterpret_u32_u8(rounded), 0);
    std::memcpy(target, &four, sizeof(four));  // the fourth byte is overwritten, or slack
    target += 3;
    high += axis.stride;
    if constexpr (kIsSplit) {
      low += axis.stride;
    }
  }
}

template <bool kIsSplit>
Sums plus(const Sums& sums, uint8x16_t bytes, int32_t weight) {
  const int16x8_t first = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)));
  const int16x8_t last = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(bytes)));
  return {plus<kIsSplit>(sums[0], vget_low_s16(first), weight),
          plus<kIsSplit>(sums[1], vget_high_s16(first), weight),
          plus<kIsSplit>(sums[2], vget_low_s16(last), weight),
          plus<kIsSplit>(sums[3], vget_high_s16(last), weight)};
}

template <bool kIsSplit>
void vertical(uint8_t* target, const uint8_t* const* rows, const ResizeAxis& axis, int64_t output,
              int64_t bytes) {
  const int32x4_t half = vdupq_n_s32(1 << (axis.precision - 1));
  const int32x4_t shift = vdupq_n_s32(-axis.precision);
  const int16_t* const high = axis.high.data() + output * axis.stride;
  const int16_t* const low = kIsSplit ? axis.low.data() + output * axis.stride : nullptr;
  const int32_t count = axis.taps[static_cast<std::size_t>(output)].count;
  for (int64_t i = 0; i < bytes; i += kBytesAtOnce) {
    Sums sums = {half, half, half, half};
    for (int32_t k = 0; k < count; ++k) {
      sums = plus<kIsSplit>(sums, vld1q_u8(rows[k] + i), weight_of<kIsSplit>(high, low, k));
    }
    const auto words = [&](std::size_t part) { return vqmovn_s32(vshlq_s32(sums[part], shift)); };
    vst1q_u8(target + i, vcombine_u8(vqmovun_s16(vcombine_s16(words(0), words(1))),
                                     vqmovun_s16(vcombine_s16(words(2), words(3)))));
  }
}

}  // namespace

void horizontal_neon(uint8_t* target, const uint8_t* row, const ResizeAxis& axis) {
  axis.is_split() ? horizontal<true>(target, row, axis) : horizontal<false>(target, row, axis);
}

void vertical_neon(uint8_t* target, const uint8_t* const* rows, const ResizeAxis& axis,
                   int64_t output, int64_t bytes) {
  axis.is_split() ? vertical<true>(target, rows, axis, output, bytes)
                  : vertical<false>(target, rows, axis, output, bytes);
}

}  // namespace torchfeed

#endif
