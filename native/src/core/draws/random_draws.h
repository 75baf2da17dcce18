// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/draws/box.h"
#include "core/draws/image_operation.h"
#include "core/draws/random_words.h"

namespace torchfeed {

/// Draws of the random transforms of torchvision 0.25: parameters from words and the size of an
/// image, without its pixels. With torch's words they equal torchvision's, but where an
/// exponential that rounds differently in the last bit of a float32 turns the rounding of a side.

/// A closed interval.
struct Interval {
  double min;
  double max;

  bool operator==(const Interval& other) const = default;
};

/// The parameters of `RandomResizedCrop`.
struct RandomResizedCrop {
  Interval scale{0.08, 1};             // share of the area
  Interval ratio{3.0 / 4.0, 4.0 / 3};  // width / height
};

/// The parameters of `ColorJitter`; an operation without a range is left out.
struct ColorJitter {
  std::optional<Interval> brightness{};
  std::optional<Interval> contrast{};
  std::optional<Interval> saturation{};
  std::optional<Interval> hue{};  // in [-0.5, 0.5]
};

/// The parameters of `RandomErasing` with a constant value.
struct RandomErasing {
  double probability = 0.5;
  Interval scale{0.02, 0.33};
  Interval ratio{0.3, 3.3};  // height / width
  std::array<uint8_t, 3> fill{};
};

/// Returns whether something of this probability happens, as in `RandomHorizontalFlip`.
[[nodiscard]] bool draw_event(double probability, RandomWords& words);

/// Returns the part of an image of at least one pixel to be cut out.
[[nodiscard]] Box draw_crop(const RandomResizedCrop& crop, RandomWords& words, int64_t height,
                            int64_t width);

/// Appends the operations in their random order.
void draw_jitter(const ColorJitter& jitter, RandomWords& words,
                 std::vector<ImageOperation>& operations);

/// Returns the rectangle to be filled, or nothing if the image remains as it is.
[[nodiscard]] std::optional<Box> draw_erasing(const RandomErasing& erasing, RandomWords& words,
                                              int64_t height, int64_t width);

}  // namespace torchfeed
