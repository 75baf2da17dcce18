// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/image/scale/resample_axis.h"

#ifdef __aarch64__
#define TORCHFEED_RESAMPLE_NEON
#endif

namespace torchfeed {

#ifdef TORCHFEED_RESAMPLE_NEON

// The functions of `ResampleKernels`, for every 64-bit ARM processor.

void horizontal_neon(uint8_t* target, const uint8_t* row, const ResizeAxis& axis);

void vertical_neon(uint8_t* target, const uint8_t* const* rows, const ResizeAxis& axis,
                   int64_t output, int64_t bytes);

#endif

}  // namespace torchfeed
