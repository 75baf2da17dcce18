// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace torchfeed {

/// Bagua's `MinMaxUInt8`: numbers in one byte each, of 256 levels between their least and their
/// largest. The code begins with these two, and its length is a multiple of 32 bytes.
///
/// Unlike Bagua's, a code below the first level is the first level rather than the last, and all
/// numbers become NaN if one is not finite.

/// Returns the bytes of the code of `count` numbers.
[[nodiscard]] int64_t min_max_code_bytes(int64_t count);
void encode_min_max(const float* numbers, int64_t count, uint8_t* code);
void decode_min_max(const uint8_t* code, int64_t count, float* numbers);
/// Adds the result of `decode_min_max`.
void decode_min_max_onto(const uint8_t* code, int64_t count, float* numbers);

}  // namespace torchfeed
