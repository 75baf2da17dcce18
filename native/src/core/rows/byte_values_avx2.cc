// SPDX-License-Identifier: Apache-2.0
#include "core/rows/byte_values_avx2.h"

#ifdef TORCHFEED_BYTE_VALUES_AVX2

#include <immintrin.h>

#include <algorithm>

#include "core/rows/half_floats.h"
#include "core/simd_level.h"

#define TORCHFEED_AVX2 __attribute__((target("avx2,fma,f16c")))

namespace torchfeed {
namespace {

constexpr std::size_t kAtOnce = 16;

/// Computes with a byte in each of 8 numbers. The remainder of the first quotient is exact, so that
/// its correction is nearly always the quotient's rounding.
class Formula {
 public:
  TORCHFEED_AVX2 explicit Formula(const ByteResults& results)
      : factor_(_mm256_set1_ps(results.factor)),
        mean_(_mm256_set1_ps(results.scale.mean)),
        std_(_mm256_set1_ps(results.scale.std)),
        reciprocal_(_mm256_set1_ps(results.reciprocal)) {}

  TORCHFEED_AVX2 __m256 of(const std::byte* source) const {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(source));
    const __m256 numbers = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    const __m256 centerd = _mm256_sub_ps(_mm256_mul_ps(numbers, factor_), mean_);
    const __m256 quotient = _mm256_mul_ps(centerd, reciprocal_);
    const __m256 remainder = _mm256_fnmadd_ps(quotient, std_, centerd);
    return _mm256_fmadd_ps(remainder, reciprocal_, quotient);
  }

 private:
  const __m256 factor_;
  const __m256 mean_;
  const __m256 std_;
  const __m256 reciprocal_;
};

template <bool kStreams>
TORCHFEED_AVX2 void store(std::byte* target, __m256i numbers) {
  auto* const to = reinterpret_cast<__m256i*>(target);
  if constexpr (kStreams) {
    _mm256_stream_si256(to, numbers);
  } else {
    _mm256_storeu_si256(to, numbers);
  }
}

/// The upper 16 bits of each number, rounded to even.
TORCHFEED_AVX2 __m256i upper_halves(__m256 numbers) {
  const __m256i bits = _mm256_castps_si256(numbers);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounding = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF));
  return _mm256_srli_epi32(_mm256_add_epi32(bits, rounding), 16);
}

/// Stores 16 numbers as a type.
template <Element kResult, bool kStreams>
TORCHFEED_AVX2 void store_sixteen(std::byte* target, __m256 first, __m256 second) {
  if constexpr (kResult == Element::kFloat32) {
    store<kStreams>(target, _mm256_castps_si256(first));
    store<kStreams>(target + sizeof(__m256), _mm256_castps_si256(second));
  } else if constexpr (kResult == Element::kFloat16) {
    store<kStreams>(target, _mm256_set_m128i(_mm256_cvtps_ph(second, _MM_FROUND_TO_NEAREST_INT),
                                             _mm256_cvtps_ph(first, _MM_FROUND_TO_NEAREST_INT)));
  } else {
    constexpr int kInOrder = 0b11'01'10'00;  // a pack works on each half of the registers
    const __m256i packed = _mm256_packus_epi32(upper_halves(first), upper_halves(second));
    store<kStreams>(target, _mm256_permute4x64_epi64(packed, kInOrder));
  }
}

/// Reads the table where there are too few bytes for a register.
template <class Number>
void look_up_few(std::byte* target, const std::byte* source, std::size_t from, std::size_t to,
                 const ByteResults& results) {
  const auto* const table = reinterpret_cast<const Number*>(results.table.data());
  for (std::size_t i = from; i < to; ++i) {
    reinterpret_cast<Number*>(target)[i] = table[static_cast<std::size_t>(source[i])];
  }
}

template <Element kResult, bool kStreams>
TORCHFEED_AVX2 void compute(std::byte* target, const std::byte* source, std::size_t count,
                            const ByteResults& results) {
  using Number = std::conditional_t<kResult == Element::kFloat32, uint32_t, uint16_t>;
  const Formula formula(results);
  std::size_t done = 0;
  if constexpr (kStreams) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(target) % kCacheLine;
    done = std::min(count, (kCacheLine - past) % kCacheLine / sizeof(Number));
    look_up_few<Number>(target, source, 0, done, results);
  }
  for (; done + kAtOnce <= count; done += kAtOnce) {
    store_sixteen<kResult, kStreams>(target + done * sizeof(Number), formula.of(source + done),
                                     formula.of(source + done + kAtOnce / 2));
  }
  look_up_few<Number>(target, source, done, count, results);
}

template <Element kResult>
void compute_as(std::byte* target, const std::byte* source, std::size_t count,
                const ByteResults& results, Stores stores) {
  if (stores == Stores::kStreamed) {
    compute<kResult, true>(target, source, count, results);
  } else {
    compute<kResult, false>(target, source, count, results);
  }
}

}  // namespace

bool has_fused_conversions() {
  return simd_level() >= SimdLevel::kAvx2 && __builtin_cpu_supports("avx2") != 0 &&
         __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("f16c") != 0;
}

void compute_float32_avx2(std::byte* target, const std::byte* source, std::size_t count,
                          const ByteResults& results, Stores stores) {
  compute_as<Element::kFloat32>(target, source, count, results, stores);
}

void compute_float16_avx2(std::byte* target, const std::byte* source, std::size_t count,
                          const ByteResults& results, Stores stores) {
  compute_as<Element::kFloat16>(target, source, count, results, stores);
}

void compute_bfloat16_avx2(std::byte* target, const std::byte* source, std::size_t count,
                           const ByteResults& results, Stores stores) {
  compute_as<Element::kBFloat16>(target, source, count, results, stores);
}

TORCHFEED_AVX2 void round_to_float16_avx2(uint16_t* target, const float* source,
                                          std::size_t count) {
  constexpr std::size_t kFloats = sizeof(__m256) / sizeof(float);
  std::size_t done = 0;
  for (; done + kFloats <= count; done += kFloats) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + done),
                     _mm256_cvtps_ph(_mm256_loadu_ps(source + done), _MM_FROUND_TO_NEAREST_INT));
  }
  std::transform(source + done, source + count, target + done, float16_of);
}

}  // namespace torchfeed

#endif
