// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/augment_draws.h"

#include <cmath>

namespace torchfeed {
namespace {

/// The kinds in torchvision's order; a word chooses one.
constexpr std::array kKinds = {
    ImageOperationKind::kIdentity,     ImageOperationKind::kShearX,
    ImageOperationKind::kShearY,       ImageOperationKind::kTranslateX,
    ImageOperationKind::kTranslateY,   ImageOperationKind::kRotate,
    ImageOperationKind::kBrightness,   ImageOperationKind::kSaturation,
    ImageOperationKind::kContrast,     ImageOperationKind::kSharpness,
    ImageOperationKind::kPosterize,    ImageOperationKind::kSolarize,
    ImageOperationKind::kAutocontrast, ImageOperationKind::kEqualize,
};

/// The values of the last bin.
struct Space {
  double shear;
  double translate_x;
  double translate_y;
  double rotate;
  double factor;  // distance from 1
  double lost_bits;
};

ImageOperationKind draw_kind(RandomWords& words) {
  return kKinds[static_cast<size_t>(words.below(kKinds.size()))];
}

bool has_value(ImageOperationKind kind) {
  return kind != ImageOperationKind::kIdentity && kind != ImageOperationKind::kAutocontrast &&
         kind != ImageOperationKind::kEqualize;
}

/// The element of `torch.linspace(first, last, bins)` in float32.
double spaced(double first, double last, int64_t bin, int64_t bins) {
  const auto start = static_cast<float>(first);
  const auto end = static_cast<float>(last);
  const float step = (end - start) / static_cast<float>(bins - 1);
  return bin < bins / 2 ? std::fma(step, static_cast<float>(bin), start)
                        : std::fma(-step, static_cast<float>(bins - 1 - bin), end);
}

/// The bits that remain of 8, in the arithmetic of a quotient of float32.
double kept_bits(double lost, int64_t bin, int64_t bins) {
  const float per_bit = static_cast<float>(static_cast<double>(bins - 1) / lost);
  return std::nearbyint(8 - static_cast<float>(bin) / per_bit);
}

/// Draws the sign of a value.
double either(double value, RandomWords& words) { return words.unit() <= 0.5F ? -value : value; }

ImageOperation draw_value(ImageOperationKind kind, const Space& space, int64_t bin, int64_t bins,
                          RandomWords& words) {
  const auto signed_value = [&](double last) {
    return ImageOperation{kind, either(spaced(0, last, bin, bins), words)};
  };
  switch (kind) {
    case ImageOperationKind::kShearX:
    case ImageOperationKind::kShearY:
      return signed_value(space.shear);
    case ImageOperationKind::kTranslateX:
      return signed_value(space.translate_x);
    case ImageOperationKind::kTranslateY:
      return signed_value(space.translate_y);
    case ImageOperationKind::kRotate:
      return signed_value(space.rotate);
    case ImageOperationKind::kPosterize:
      return {kind, kept_bits(space.lost_bits, bin, bins)};
    case ImageOperationKind::kSolarize:
      return {kind, 255 * spaced(1, 0, bin, bins)};
    default:
      return {kind, 1 + signed_value(space.factor).value};
  }
}

}  // namespace

void draw_augment(const RandAugment& augment, RandomWords& words, int64_t height, int64_t width,
                  std::vector<ImageOperation>& operations) {
  constexpr double kShare = 150.0 / 331.0;
  const Space space{.shear = 0.3,
                    .translate_x = kShare * static_cast<double>(width),
                    .translate_y = kShare * static_cast<double>(height),
                    .rotate = 30,
                    .factor = 0.9,
                    .lost_bits = 4};
  for (int64_t i = 0; i < augment.operations; ++i) {
    const ImageOperationKind kind = draw_kind(words);
    operations.push_back(has_value(kind)
                             ? draw_value(kind, space, augment.magnitude, augment.bins, words)
                             : ImageOperation{kind, 0});
  }
}

void draw_augment(const TrivialAugmentWide& augment, RandomWords& words,
                  std::vector<ImageOperation>& operations) {
  constexpr Space kSpace{.shear = 0.99,
                         .translate_x = 32,
                         .translate_y = 32,
                         .rotate = 135,
                         .factor = 0.99,
                         .lost_bits = 6};
  const ImageOperationKind kind = draw_kind(words);
  if (!has_value(kind)) {
    operations.push_back({kind, 0});
    return;
  }
  const int64_t bin = words.below(augment.bins);
  operations.push_back(draw_value(kind, kSpace, bin, augment.bins, words));
}

}  // namespace torchfeed
