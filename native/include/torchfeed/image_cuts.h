// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "torchfeed/export.h"

namespace torchfeed {

/// Makes the rows of images that were decoded elsewhere, for example by a GPU, with libtorch's
/// operations on the device of the pixels. Crops and flips are those that `write_image_row` draws;
/// scaling is not rounded between its two axes.
struct TORCHFEED_API ImageCuts {
  /// Turns, crops, scales and flips an image.
  ///
  /// @param steps    the plan, of `numbers` numbers: see `PlanStep`
  /// @param encoded  the content of the image file; only its orientation is read
  /// @param seed, epoch, index  the key of the random steps: `SampleWords`
  /// @param pixels   `uint8 [3, height, width]`, the whole image
  /// @return `uint8 [3, height, width]` of the plan
  /// @throws Error  of code `kInvalidArgument` if the plan has a step that changes colors or
  ///                erases, or a filter other than bilinear and bicubic
  [[nodiscard]] static torch::Tensor cut(const double* steps, int64_t numbers,
                                         const uint8_t* encoded, int64_t bytes, int64_t seed,
                                         int64_t epoch, int64_t index, const torch::Tensor& pixels);

  /// Normalizes a batch `uint8 [B, 3, height, width]` if the plan does, to float32.
  [[nodiscard]] static torch::Tensor finish(const double* steps, int64_t numbers,
                                            const torch::Tensor& batch);

  /// Throws the error of `cut` for the plan.
  static void check(const double* steps, int64_t numbers);
};

}  // namespace torchfeed
