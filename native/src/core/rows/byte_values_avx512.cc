// SPDX-License-Identifier: Apache-2.0
#include "core/rows/byte_values_avx512.h"

#ifdef __x86_64__

#include <immintrin.h>

#include <algorithm>

#include "core/simd_level.h"

#define TORCHFEED_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

namespace torchfeed {
namespace {

constexpr std::size_t kAtOnce = sizeof(__m512i);
constexpr __mmask8 kAll = 0xFF;  // without a mask, g++ 12 warns of its own header

/// 256 bytes in registers, looked up by bytes.
class Table {
 public:
  TORCHFEED_AVX512 explicit Table(const std::byte* table)
      : first_(_mm512_load_si512(table)),
        second_(_mm512_load_si512(table + kAtOnce)),
        third_(_mm512_load_si512(table + 2 * kAtOnce)),
        fourth_(_mm512_load_si512(table + 3 * kAtOnce)) {}

  TORCHFEED_AVX512 __m512i at(__m512i bytes) const {
    const __m512i below = _mm512_permutex2var_epi8(first_, bytes, second_);
    const __m512i above = _mm512_permutex2var_epi8(third_, bytes, fourth_);
    return _mm512_mask_mov_epi8(below, _mm512_movepi8_mask(bytes), above);
  }

 private:
  const __m512i first_;
  const __m512i second_;
  const __m512i third_;
  const __m512i fourth_;
};

/// Returns a mask of the first `count` of 64 or more.
TORCHFEED_AVX512 __mmask64 first_of(std::size_t count) {
  return count >= kAtOnce ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

template <bool kStreams>
TORCHFEED_AVX512 void permute(uint16_t* target, const std::byte* source, std::size_t count,
                              const ByteResults& results) {
  // The bytes of the results are interleaved within quarters of a register.
  const __m512i quarters = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  const Table lower(results.table.data() + 2 * kByteValues);
  const Table upper(results.table.data() + 3 * kByteValues);
  for (std::size_t done = 0; done < count; done += kAtOnce) {
    const __mmask64 here = first_of(count - done);
    const __m512i bytes = _mm512_maskz_permutexvar_epi64(
        kAll, quarters, _mm512_maskz_loadu_epi8(here, source + done));
    const __m512i low = lower.at(bytes);
    const __m512i high = upper.at(bytes);
    const __m512i first = _mm512_unpacklo_epi8(low, high);
    const __m512i second = _mm512_unpackhi_epi8(low, high);
    uint16_t* const to = target + done;
    if (kStreams && count - done >= kAtOnce) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), first);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + kAtOnce / 2), second);
    } else {
      _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(here), first);
      _mm512_mask_storeu_epi16(to + kAtOnce / 2, static_cast<__mmask32>(here >> 32), second);
    }
  }
}

}  // namespace

bool has_byte_permutes() {
  return simd_level() >= SimdLevel::kAvx512 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vbmi") != 0;
}

void permute_bytes_avx512(std::byte* target, const std::byte* source, std::size_t count,
                          const ByteResults& results, Stores stores) {
  auto* const to = reinterpret_cast<uint16_t*>(target);
  if (stores == Stores::kCached) {
    return permute<false>(to, source, count, results);
  }
  const std::size_t past = reinterpret_cast<std::uintptr_t>(target) % kCacheLine;
  const std::size_t head = std::min(count, (kCacheLine - past) % kCacheLine / sizeof(uint16_t));
  permute<false>(to, source, head, results);
  permute<true>(to + head, source + head, count - head, results);
}

}  // namespace torchfeed

#endif
