// SPDX-License-Identifier: Apache-2.0
#include "core/draws/random_draws.h"

#include <cmath>
#include <utility>

namespace torchfeed {
namespace {

constexpr int kTries = 10;

// Python's `round`: half to even, in the default rounding mode.
int64_t rounded(double number) { return static_cast<int64_t>(std::nearbyint(number)); }

float float_log(double number) {
  return static_cast<float>(std::log(static_cast<double>(static_cast<float>(number))));
}

float float_exp(float number) { return static_cast<float>(std::exp(static_cast<double>(number))); }

/// Sides whose product is a drawn share of the area, and whose quotient is a drawn ratio.
std::pair<int64_t, int64_t> draw_sides(const Interval& scale, const Interval& ratio,
                                       RandomWords& words, int64_t height, int64_t width) {
  const double area = static_cast<double>(height * width) *
                      static_cast<double>(words.uniform(static_cast<float>(scale.min),
                                                        static_cast<float>(scale.max)));
  const auto drawn =
      static_cast<double>(float_exp(words.uniform(float_log(ratio.min), float_log(ratio.max))));
  return {rounded(std::sqrt(area * drawn)), rounded(std::sqrt(area / drawn))};
}

/// The largest part in the middle whose ratio is within the range.
Box middle(const Interval& ratio, int64_t height, int64_t width) {
  const double own = static_cast<double>(width) / static_cast<double>(height);
  Box box{0, 0, height, width};
  if (own < ratio.min) {
    box.height = rounded(static_cast<double>(width) / ratio.min);
  } else if (own > ratio.max) {
    box.width = rounded(static_cast<double>(height) * ratio.max);
  }
  box.top = (height - box.height) / 2;
  box.left = (width - box.width) / 2;
  return box;
}

}  // namespace

bool draw_event(double probability, RandomWords& words) {
  return words.unit() < static_cast<float>(probability);
}

Box draw_crop(const RandomResizedCrop& crop, RandomWords& words, int64_t height, int64_t width) {
  for (int i = 0; i < kTries; ++i) {
    const auto [w, h] = draw_sides(crop.scale, crop.ratio, words, height, width);
    if (0 < w && w <= width && 0 < h && h <= height) {
      const int64_t top = words.below(height - h + 1);
      const int64_t left = words.below(width - w + 1);
      return {top, left, h, w};
    }
  }
  return middle(crop.ratio, height, width);
}

void draw_jitter(const ColorJitter& jitter, RandomWords& words,
                 std::vector<ImageOperation>& operations) {
  constexpr size_t kOperations = 4;
  const auto order = words.order<kOperations>();
  std::array<std::optional<ImageOperation>, kOperations> drawn;
  const auto draw = [&](size_t place, ImageOperationKind kind,
                        const std::optional<Interval>& range) {
    if (range) {
      const float value =
          words.uniform(static_cast<float>(range->min), static_cast<float>(range->max));
      drawn[place] = ImageOperation{kind, static_cast<double>(value)};
    }
  };
  draw(0, ImageOperationKind::kBrightness, jitter.brightness);
  draw(1, ImageOperationKind::kContrast, jitter.contrast);
  draw(2, ImageOperationKind::kSaturation, jitter.saturation);
  draw(3, ImageOperationKind::kHue, jitter.hue);
  for (const auto place : order) {
    if (drawn[place]) {
      operations.push_back(*drawn[place]);
    }
  }
}

std::optional<Box> draw_erasing(const RandomErasing& erasing, RandomWords& words, int64_t height,
                                int64_t width) {
  if (!draw_event(erasing.probability, words)) {
    return std::nullopt;
  }
  for (int i = 0; i < kTries; ++i) {
    const auto [h, w] = draw_sides(erasing.scale, erasing.ratio, words, height, width);
    if (h < height && w < width) {
      const int64_t top = words.below(height - h + 1);
      const int64_t left = words.below(width - w + 1);
      return Box{top, left, h, w};
    }
  }
  return std::nullopt;
}

}  // namespace torchfeed
