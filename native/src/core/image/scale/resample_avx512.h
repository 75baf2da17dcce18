// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/image/scale/resample_axis.h"

#ifdef __x86_64__
#define TORCHFEED_RESAMPLE_AVX512
#endif

namespace torchfeed {

#ifdef TORCHFEED_RESAMPLE_AVX512

/// Returns whether this processor can run the functions below, all of `ResampleKernels`: it
/// multiplies bytes (AVX-512 VNNI) and moves them freely (VBMI), as most servers since 2021 do.
bool has_avx512_bytes();

void prepare_avx512(ResizeAxis& axis);

void horizontal_avx512(uint8_t* target, const uint8_t* row, const ResizeAxis& axis);

void vertical_avx512(uint8_t* target, const uint8_t* const* rows, const ResizeAxis& axis,
                     int64_t output, int64_t bytes);

#endif

}  // namespace torchfeed
