// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/rows/byte_values.h"

#ifdef __x86_64__
#define TORCHFEED_BYTE_VALUES_AVX2

namespace torchfeed {

/// Returns whether the processor has AVX2, fused multiply-adds and conversions to float16, and
/// `TORCHFEED_SIMD` permits them.
[[nodiscard]] bool has_fused_conversions();

// Of the type `ByteConversion`; only where `has_fused_conversions`.

void compute_float32_avx2(std::byte* target, const std::byte* source, std::size_t count,
                          const ByteResults& results, Stores stores);
void compute_float16_avx2(std::byte* target, const std::byte* source, std::size_t count,
                          const ByteResults& results, Stores stores);
void compute_bfloat16_avx2(std::byte* target, const std::byte* source, std::size_t count,
                           const ByteResults& results, Stores stores);

/// Rounds floats to float16, as `float16_of`.
void round_to_float16_avx2(uint16_t* target, const float* source, std::size_t count);

}  // namespace torchfeed

#endif
