// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace torchfeed {

/// The steps from an encoded image to a row of a batch. A plan is a list of numbers: each step,
/// followed by its arguments. One step decides the size. The crop is drawn first; then flips,
/// colors, augmentations, blurs and erasing to a color, drawn and applied in the order of the list;
/// then erasing to 0.
enum PlanStep {
  /// Dialect (0 Pillow 13, 1 torchvision's uint8 tensors, 2 Pillow 12.0, 3 torchvision's without
  /// antialiasing) and filter (0 box, 1 bilinear, 2 bicubic, 3 Lanczos; torchvision has bilinear
  /// and bicubic, without antialiasing only bilinear) of each change of size.
  kPlanScaling = 0,
  /// The shorter side after scaling, before a center crop.
  kPlanShortSide = 1,
  /// Height and width to which the whole image is scaled.
  kPlanResize = 2,
  /// Height and width of the middle, with black around a smaller image.
  kPlanCenterCrop = 3,
  /// Mean and standard deviation of red, green and blue, six numbers: `(byte / 255 - mean) / std`.
  kPlanNormalize = 4,
  /// Height and width of the result; least and largest share of the area, and ratio of width to
  /// height, of the random part that is scaled to it.
  kPlanRandomResizedCrop = 5,
  /// The probability of a reflection left-right.
  kPlanHorizontalFlip = 6,
  /// The probability of a reflection top-bottom.
  kPlanVerticalFlip = 7,
  /// Least and largest brightness, contrast, saturation and hue; NaN is left alone.
  kPlanColorJitter = 8,
  /// Number of operations, magnitude and number of bins.
  kPlanRandAugment = 9,
  /// The number of bins.
  kPlanTrivialAugmentWide = 10,
  /// Probability, least and largest share of the area, and ratio of height to width, of a rectangle
  /// that gets a color before the normalization; red, green and blue in [0, 255].
  kPlanRandomErasing = 11,
  /// The same without a color: in the finished row, the rectangle becomes 0.
  kPlanRandomErasingToZero = 12,
  /// Before everything else, the image is turned as its EXIF orientation says.
  kPlanExifOrientation = 13,
  /// Height and width of a fixed part; the row and the column of the image at which it begins,
  /// from -65535 to 65535. It is black where it exceeds the image.
  kPlanCrop = 14,
  /// Pixels of the largest image that is decoded or scaled to, at most 65535^2.
  kPlanMaxPixels = 15,
  /// The odd side of the square of weights, at most twice each side of the row; least and largest
  /// standard deviation in pixels.
  kPlanGaussianBlur = 16,
  /// The probability that each pixel gets three equal channels.
  kPlanRandomGrayscale = 17,
  /// The probability of the steps that follow, and their number, with those inside of them.
  kPlanRandomApply = 18,
  /// Each pixel gets three equal channels.
  kPlanGrayscale = 19,
  /// Gray pixels of 16 bits above 255 become 255; otherwise their high byte counts.
  kPlanClipGray16 = 20,
};

}  // namespace torchfeed
