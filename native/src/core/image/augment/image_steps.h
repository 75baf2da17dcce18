// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/draws/box.h"
#include "core/draws/image_operation.h"
#include "core/draws/random_draws.h"
#include "core/draws/random_words.h"
#include "core/image/augment/augment_draws.h"
#include "core/image/pixels.h"
#include "core/image/scale/resampling.h"

namespace torchfeed {

/// `RandomHorizontalFlip`.
struct HorizontalFlip {
  double probability = 0.5;
};

/// `RandomVerticalFlip`.
struct VerticalFlip {
  double probability = 0.5;
};

/// One operation with a probability, as `RandomGrayscale`, `RandomInvert` or `RandomSolarize`.
struct RandomOperation {
  double probability;
  ImageOperation operation;
};

/// `GaussianBlur`, with a random standard deviation in pixels.
struct GaussianBlur {
  int64_t kernel;  // odd
  Interval sigma{0.1, 2};
};

/// `RandomApply` of the steps that follow it.
struct RandomApply {
  double probability;
  int64_t steps;  // how many, those inside of another `RandomApply` included
};

/// An `ImageOperation` by itself is one for every image, as `Grayscale`.
using ImageStep =
    std::variant<HorizontalFlip, VerticalFlip, ImageOperation, RandomOperation, ColorJitter,
                 RandAugment, TrivialAugmentWide, RandomErasing, GaussianBlur, RandomApply>;

/// An operation, and its resampling if it is geometric.
struct DrawnOperation {
  ImageOperation operation;
  Resampling resampling;
};

/// A rectangle and its new color.
struct Erasure {
  Box box;
  std::array<uint8_t, 3> fill;
};

/// A blur and its drawn standard deviation.
struct Blur {
  int64_t kernel;
  double sigma;
};

enum class Reflection : uint8_t { kHorizontal, kVertical };

using DrawnChange = std::variant<DrawnOperation, Blur, Reflection, Erasure>;

/// The drawn parameters of all steps for one image.
struct DrawnSteps {
  // Before all changes.
  bool flips_horizontally = false;
  bool flips_vertically = false;
  std::vector<DrawnChange> changes;  // no operation is an identity

  /// Returns whether nothing but flips happens, which a copy of the pixels can do on its way.
  [[nodiscard]] bool only_flips() const { return changes.empty(); }
};

/// The steps of an image between its resize and its normalization, in any order. Immutable and
/// thread-safe.
class ImageSteps {
 public:
  /// @throws Error  `kInvalidArgument` if a parameter is out of range, or a `RandomApply` has no
  ///                steps or more than follow
  explicit ImageSteps(std::vector<ImageStep> steps);

  /// Draws the parameters for an image of this size, in the order of the steps.
  [[nodiscard]] DrawnSteps draw(RandomWords& words, int64_t height, int64_t width) const;

  /// Returns whether no step changes pixels, whatever is drawn.
  [[nodiscard]] bool only_flips() const;

 private:
  std::vector<ImageStep> steps_;
};

/// Applies one operation to an image of at least one pixel. `spare` is memory for a copy of it.
void apply(const DrawnOperation& drawn, Pixels pixels, std::vector<uint8_t>& spare);

/// Applies all steps, the flips included, to an image of the size they were drawn for.
void apply(const DrawnSteps& drawn, Pixels pixels, std::vector<uint8_t>& spare);

/// Checks the parameters of a random crop.
///
/// @throws Error  `kInvalidArgument` if one is out of range
void check(const RandomResizedCrop& crop);

/// Checks the parameters of an erasing.
///
/// @throws Error  `kInvalidArgument` if one is out of range
void check(const RandomErasing& erasing);

}  // namespace torchfeed
