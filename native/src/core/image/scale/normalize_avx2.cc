// SPDX-License-Identifier: Apache-2.0
#include "core/image/scale/normalize_avx2.h"

#ifdef TORCHFEED_NORMALIZE_AVX2

#include <immintrin.h>

#include "core/image/pixels.h"

#define TORCHFEED_AVX2 __attribute__((target("avx2")))

namespace torchfeed {
namespace {

constexpr float kScale = 1.0F / 255.0F;

/// Loads every third byte of 24: the bytes of 4 pixels into each half of 8.
TORCHFEED_AVX2 __m128i eight_bytes(const uint8_t* rgb) {
  constexpr char kZero = -1;
  const __m128i low = _mm_setr_epi8(0, 3, 6, 9, kZero, kZero, kZero, kZero, kZero, kZero, kZero,
                                    kZero, kZero, kZero, kZero, kZero);
  const __m128i high = _mm_setr_epi8(kZero, kZero, kZero, kZero, 0, 3, 6, 9, kZero, kZero, kZero,
                                     kZero, kZero, kZero, kZero, kZero);
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rgb));
  const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rgb + 4 * kChannels));
  return _mm_or_si128(_mm_shuffle_epi8(first, low), _mm_shuffle_epi8(second, high));
}

template <bool kStreams>
TORCHFEED_AVX2 void store(float* target, __m256 numbers) {
  if constexpr (kStreams) {
    _mm256_stream_ps(target, numbers);
  } else {
    _mm256_storeu_ps(target, numbers);
  }
}

template <bool kReverses, bool kStreams>
TORCHFEED_AVX2 int64_t normalize(float* target, const uint8_t* rgb, int64_t width, float mean,
                                 float std) {
  const __m256 scales = _mm256_set1_ps(kScale);
  const __m256 means = _mm256_set1_ps(mean);
  const __m256 stds = _mm256_set1_ps(std);
  const __m256i backwards = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  int64_t x = 0;
  for (; x + kNormalizedAtOnce <= width; x += kNormalizedAtOnce) {
    const __m256 bytes = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight_bytes(rgb + kChannels * x)));
    const __m256 numbers = _mm256_div_ps(_mm256_sub_ps(_mm256_mul_ps(bytes, scales), means), stds);
    if constexpr (kReverses) {
      store<kStreams>(target + width - kNormalizedAtOnce - x,
                      _mm256_permutevar8x32_ps(numbers, backwards));
    } else {
      store<kStreams>(target + x, numbers);
    }
  }
  return x;
}

}  // namespace

int64_t normalize_avx2(float* target, const uint8_t* rgb, int64_t width, bool reverses,
                       Stores stores, float mean, float std) {
  const float* const first = reverses ? target + width : target;
  const bool streams =
      stores == Stores::kStreamed && reinterpret_cast<std::uintptr_t>(first) % sizeof(__m256) == 0;
  if (streams) {
    return reverses ? normalize<true, true>(target, rgb, width, mean, std)
                    : normalize<false, true>(target, rgb, width, mean, std);
  }
  return reverses ? normalize<true, false>(target, rgb, width, mean, std)
                  : normalize<false, false>(target, rgb, width, mean, std);
}

}  // namespace torchfeed

#endif
