// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/image/scale/resample_axis.h"

#ifdef __x86_64__
#define TORCHFEED_RESAMPLE_AVX2
#endif

namespace torchfeed {

#ifdef TORCHFEED_RESAMPLE_AVX2

/// Returns whether this processor can run the functions below, all of `ResampleKernels`.
bool has_avx2();

void horizontal_avx2(uint8_t* target, const uint8_t* row, const ResizeAxis& axis);

void vertical_avx2(uint8_t* target, const uint8_t* const* rows, const ResizeAxis& axis,
                   int64_t output, int64_t bytes);

#endif

}  // namespace torchfeed
