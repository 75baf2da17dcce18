// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/rows/byte_values.h"

#ifdef __x86_64__

namespace torchfeed {

/// Returns whether the processor has AVX-512 with permutations of bytes, and `TORCHFEED_SIMD`
/// permits them.
[[nodiscard]] bool has_byte_permutes();

/// Looks up results of 2 bytes, 64 at a time: a `ByteConversion`, only where `has_byte_permutes`.
void permute_bytes_avx512(std::byte* target, const std::byte* source, std::size_t count,
                          const ByteResults& results, Stores stores);

}  // namespace torchfeed

#endif
