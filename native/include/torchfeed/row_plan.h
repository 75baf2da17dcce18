// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace torchfeed {

/// The steps from a row of a column to the row that a batch gets. A list of numbers: each step,
/// followed by its arguments. Whatever their order, a part is cut out first, then reflected, then
/// its numbers are scaled, normalized and cast.
enum RowStep {
  /// Top, left, height and width of a part of the last two dimensions. Pixels outside of the row
  /// are 0.
  kRowCrop = 0,
  /// Height and width of the middle, with 0 around a smaller row.
  kRowCenterCrop = 1,
  /// Height and width of a random part of the row with 0 around it, and the width of that margin.
  kRowRandomCrop = 2,
  /// The probability of a reflection of the last dimension.
  kRowHorizontalFlip = 3,
  /// A factor.
  kRowScale = 4,
  /// The number of channels, or 1 for all; the mean and then the standard deviation of each of
  /// them: `(x - mean) / std`. Channels are the third dimension from the end.
  kRowNormalize = 5,
  /// The `c10::ScalarType` of the result: Half, BFloat16, Float, Double or Long.
  kRowCast = 6,
};

}  // namespace torchfeed
