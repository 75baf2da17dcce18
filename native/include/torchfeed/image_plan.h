// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace torchfeed {

/// The steps from an encoded picture to a row of a batch. A plan is a list of numbers: each step,
/// followed by its arguments. It begins with the scaling and has one step that decides the size.
enum PlanStep {
  /// Dialect (0 Pillow 13, 1 torchvision's uint8 tensors, 2 Pillow 12.0) and filter (0 box, 1
  /// bilinear, 2 bicubic, 3 Lanczos; torchvision has bilinear and bicubic) of each change of size.
  kPlanScaling = 0,
  /// The shorter side after scaling, before a centre crop.
  kPlanShortSide = 1,
  /// Height and width to which the whole picture is scaled.
  kPlanResize = 2,
  /// Height and width of the middle, with black around a smaller picture.
  kPlanCenterCrop = 3,
  /// Mean and standard deviation of red, green and blue, six numbers: `(byte / 255 - mean) / std`.
  kPlanNormalize = 4,
};

}  // namespace torchfeed
