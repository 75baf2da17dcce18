// SPDX-License-Identifier: Apache-2.0
#include "core/stream_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace torchfeed {

#ifdef __SSE2__

namespace {

constexpr std::size_t kLinesAhead = 8;  // the hardware prefetcher stops at page boundaries

void stream_line(std::byte* target, const std::byte* source) {
  auto* const to = reinterpret_cast<__m128i*>(target);
  const auto* const from = reinterpret_cast<const __m128i*>(source);
  const __m128i a = _mm_loadu_si128(from);
  const __m128i b = _mm_loadu_si128(from + 1);
  const __m128i c = _mm_loadu_si128(from + 2);
  const __m128i d = _mm_loadu_si128(from + 3);
  _mm_stream_si128(to, a);
  _mm_stream_si128(to + 1, b);
  _mm_stream_si128(to + 2, c);
  _mm_stream_si128(to + 3, d);
}

}  // namespace

void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(target) % kCacheLine;
  const std::size_t head = past == 0 ? 0 : std::min(bytes, kCacheLine - past);
  std::memcpy(target, source, head);
  std::size_t done = head;
  for (; bytes - done >= kCacheLine; done += kCacheLine) {
    if (bytes - done > kCacheLine * kLinesAhead) {
      __builtin_prefetch(source + done + kCacheLine * kLinesAhead);
    }
    stream_line(target + done, source + done);
  }
  std::memcpy(target + done, source + done, bytes - done);
}

void end_streaming() { _mm_sfence(); }

#else

void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) {
  std::memcpy(target, source, bytes);
}

void end_streaming() {}

#endif

}  // namespace torchfeed
