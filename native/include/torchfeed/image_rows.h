// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "torchfeed/export.h"
#include "torchfeed/slab.h"

namespace torchfeed {

/// Decodes an image (JPEG, PNG, WebP) into a row of a slab: `uint8 [3, height, width]`, or float32
/// after `kPlanNormalize`. Thread-safe for different rows.
///
/// @param steps    the plan, of `numbers` numbers: see `PlanStep`. A thread reads a plan once while
///                 it is among the last that it used
/// @param encoded  the content of the image file
/// @param seed, epoch, index  the key of the random steps: `SampleWords`
TORCHFEED_API void write_image_row(const double* steps, int64_t numbers, const uint8_t* encoded,
                                   int64_t bytes, int64_t seed, int64_t epoch, int64_t index,
                                   Slab& slab, int64_t column, int64_t row);

/// As `write_image_row`, with the content of a regular file of at most 2^30 bytes.
///
/// @param path  the `path_bytes` bytes of its name
TORCHFEED_API void write_image_file_row(const double* steps, int64_t numbers, const uint8_t* path,
                                        int64_t path_bytes, int64_t seed, int64_t epoch,
                                        int64_t index, Slab& slab, int64_t column, int64_t row);

}  // namespace torchfeed
