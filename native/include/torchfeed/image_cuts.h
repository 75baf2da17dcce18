// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "torchfeed/export.h"

namespace torchfeed {

/// Makes the rows of images that were decoded elsewhere, for example by a GPU, with libtorch's
/// operations on the device of the pixels. Crops and flips are those that `write_image_row` draws;
/// scaling is not rounded between its two axes.
///
/// A device takes as long to start a small operation as to do it. An image that is scaled to its
/// row therefore costs one operation: `cut`. All that can be done for a batch is left to `finish`.
/// The plan is `steps`, of `numbers` numbers: see `PlanStep`.
struct TORCHFEED_API ImageCuts {
  /// Turns, crops and scales an image into its row of a batch.
  ///
  /// @param encoded  the content of the image file, if the plan `turns`; otherwise not read
  /// @param seed, epoch, index  the key of the random steps: `SampleWords`
  /// @param pixels   `[3, height, width]`, the whole image, uint8 or the same numbers as float32
  /// @param rows     float32 `[B, 3, height, width]` of the plan, on the device of the pixels
  /// @param row      the row to write, without any flip and not rounded yet
  /// @return the flips to be done: 0, or the sum of 1 for a horizontal and 2 for a vertical one
  /// @throws Error  of code `kInvalidArgument` if the plan has a step that changes colors or
  ///                erases, or a filter other than bilinear and bicubic
  static int64_t cut(const double* steps, int64_t numbers, const uint8_t* encoded, int64_t bytes,
                     int64_t seed, int64_t epoch, int64_t index, const torch::Tensor& pixels,
                     const torch::Tensor& rows, int64_t row);

  /// Rounds a batch of rows to bytes, flips them, and normalizes them if the plan does.
  ///
  /// @param rows   of `cut`; overwritten
  /// @param flips  the result of `cut` for each row
  /// @return `[B, 3, height, width]`, uint8, or float32 if the plan normalizes
  [[nodiscard]] static torch::Tensor finish(const double* steps, int64_t numbers,
                                            const torch::Tensor& rows, const uint8_t* flips);

  /// Decodes an image on the CPU, of any kind that `write_image_row` reads.
  ///
  /// @return its row, uint8 `[3, height, width]` in host memory, flipped, before any normalization
  /// @throws Error  of code `kUnreadable` if it is not an image that can be decoded
  [[nodiscard]] static torch::Tensor decoded(const double* steps, int64_t numbers,
                                             const uint8_t* encoded, int64_t bytes, int64_t seed,
                                             int64_t epoch, int64_t index);

  /// Returns whether the plan turns images as their files say.
  [[nodiscard]] static bool turns(const double* steps, int64_t numbers);

  /// Throws the error of `cut` for the plan.
  static void check(const double* steps, int64_t numbers);
};

}  // namespace torchfeed
