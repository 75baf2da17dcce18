// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/stores.h"

#ifdef __x86_64__
#define TORCHFEED_NORMALIZE_AVX2
#endif

namespace torchfeed {

#ifdef TORCHFEED_NORMALIZE_AVX2

/// The number of floats that one step writes.
constexpr int64_t kNormalizedAtOnce = 8;

/// Writes `(byte / 255 - mean) / std` of one channel of interleaved pixels, on a processor with
/// AVX2, for as many whole steps as the row has. Returns the number of pixels done. Reads up to 64
/// bytes behind the row.
///
/// @param stores    streamed only if every step writes to an aligned address; `end_streaming` is
/// left
///                  to the caller
/// @param rgb       the row, from the byte of the channel in the first pixel on
/// @param reverses  whether pixel `x` becomes number `width - 1 - x`
int64_t normalize_avx2(float* target, const uint8_t* rgb, int64_t width, bool reverses,
                       Stores stores, float mean, float std);

#endif

}  // namespace torchfeed
