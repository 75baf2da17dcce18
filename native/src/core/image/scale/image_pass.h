// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/image/decode/image_source.h"
#include "core/image/scale/pixel_store.h"
#include "core/image/scale/resample_axis.h"
#include "core/image/scale/resample_kernels.h"

namespace torchfeed {

/// The part of an image that is used, the size to which it is scaled, and the part of that which
/// is kept.
struct Placement {
  Region crop;     // of the image, not empty
  int64_t width;   // of the scaled crop
  int64_t height;  // of the scaled crop
  Region window;   // of the scaled crop, which it may exceed: outside of it is black
};

/// A way to scale.
struct Resize {
  ResizeDialect dialect = ResizeDialect::kPillow;
  ResizeFilter filter = ResizeFilter::kBilinear;
  const ResampleKernels* kernels = &resample_kernels().front();
};

/// Decodes, crops and scales in one pass over the rows: a row is decoded and scaled in width, and
/// once all input rows of an output row have arrived, it is scaled in height and stored. The
/// working set is a few rows, and only the rows and columns needed are decoded.
///
/// The bytes equal crop, resize, then crop with padding, one after the other. Where the sizes agree
/// in an axis, it is not scaled.
///
/// @param source  an image of which no region was chosen yet
/// @param store   receives `placement.window.height` rows of `placement.window.width` pixels
void pass_image(ImageSource& source, const Placement& placement, const Resize& resize,
                PixelStore& store);

}  // namespace torchfeed
