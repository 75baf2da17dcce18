// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#ifdef __aarch64__
#define TORCHFEED_NORMALIZE_NEON
#endif

namespace torchfeed {

#ifdef TORCHFEED_NORMALIZE_NEON

/// `normalize_avx2` for every 64-bit ARM processor, without streaming.
int64_t normalize_neon(float* target, const uint8_t* rgb, int64_t width, bool reverses, float mean,
                       float std);

#endif

}  // namespace torchfeed
