// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/image_steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>

#include "core/image/augment/affine.h"
#include "core/image/augment/blur.h"
#include "core/image/augment/color.h"
#include "core/image/augment/erase.h"
#include "core/image/augment/flip.h"
#include "core/image/augment/tone.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

void check_within(const std::string& name, double value, double min, double max) {
  if (!(min <= value && value <= max)) {
    std::ostringstream message;
    message << name << " must be in [" << min << ", " << max << "], got " << value;
    reject(message.str());
  }
}

/// Checks that `min <= range.min <= range.max <= max`.
void check_within(const std::string& name, const Interval& range, double min, double max) {
  if (!(min <= range.min && range.min <= range.max && range.max <= max)) {
    std::ostringstream message;
    message << name << " must be a range within [" << min << ", " << max << "], got [" << range.min
            << ", " << range.max << ']';
    reject(message.str());
  }
}

constexpr double kMaxFactor = 1e6;
constexpr double kMaxRatio = 1e6;
constexpr int64_t kMaxOperations = 1000;
constexpr int64_t kMaxBins = 1'000'000;
constexpr int64_t kMaxKernel = 255;
constexpr double kMinSigma = 1e-3;
constexpr double kMaxSigma = 1e3;

void check_probability(double probability) { check_within("probability", probability, 0, 1); }

void check_bins(int64_t bins) {
  check_within("bins", static_cast<double>(bins), 2, static_cast<double>(kMaxBins));
}

void check_area(const Interval& scale, const Interval& ratio) {
  check_within("scale", scale, 0, 1);
  check_within("ratio", ratio, 1 / kMaxRatio, kMaxRatio);
}

void check_operation(const ImageOperation& operation) {
  switch (operation.kind) {
    case ImageOperationKind::kBrightness:
    case ImageOperationKind::kSaturation:
    case ImageOperationKind::kContrast:
    case ImageOperationKind::kSharpness:
      check_within("factor", operation.value, 0, kMaxFactor);
      break;
    case ImageOperationKind::kPosterize:
      check_within("bits", operation.value, 0, 8);
      break;
    case ImageOperationKind::kSolarize:
      check_within("threshold", operation.value, 0, 255);
      break;
    case ImageOperationKind::kHue:
      check_within("hue", operation.value, -0.5, 0.5);
      break;
    case ImageOperationKind::kTranslateX:
    case ImageOperationKind::kTranslateY:
      check_within("translation", operation.value, -kMaxFactor, kMaxFactor);
      break;
    default:
      check_within("value", operation.value, -kMaxFactor, kMaxFactor);
  }
}

void check_blur(const GaussianBlur& blur) {
  check_within("kernel", static_cast<double>(blur.kernel), 1, static_cast<double>(kMaxKernel));
  if (blur.kernel % 2 == 0) {
    reject("kernel must be odd, got " + std::to_string(blur.kernel));
  }
  check_within("sigma", blur.sigma, kMinSigma, kMaxSigma);
}

struct Check {
  void operator()(const HorizontalFlip& step) const { check_probability(step.probability); }
  void operator()(const VerticalFlip& step) const { check_probability(step.probability); }
  void operator()(const ImageOperation& step) const { check_operation(step); }
  void operator()(const RandomOperation& step) const {
    check_probability(step.probability);
    check_operation(step.operation);
  }
  void operator()(const ColorJitter& step) const {
    const auto check_factor = [](const std::string& name, const std::optional<Interval>& range) {
      if (range) {
        check_within(name, *range, 0, kMaxFactor);
      }
    };
    check_factor("brightness", step.brightness);
    check_factor("contrast", step.contrast);
    check_factor("saturation", step.saturation);
    if (step.hue) {
      check_within("hue", *step.hue, -0.5, 0.5);
    }
  }
  void operator()(const RandAugment& step) const {
    check_bins(step.bins);
    check_within("operations", static_cast<double>(step.operations), 0, kMaxOperations);
    check_within("magnitude", static_cast<double>(step.magnitude), 0,
                 static_cast<double>(step.bins - 1));
  }
  void operator()(const TrivialAugmentWide& step) const { check_bins(step.bins); }
  void operator()(const RandomErasing& step) const { check(step); }
  void operator()(const GaussianBlur& step) const { check_blur(step); }
  void operator()(const RandomApply& step) const { check_probability(step.probability); }
};

/// Checks that each `RandomApply` has steps, all of them inside of the one that it is in.
void check_nesting(const std::vector<ImageStep>& steps) {
  std::vector<std::size_t> ends = {steps.size()};  // of those that the next step is in
  for (std::size_t i = 0; i < steps.size(); ++i) {
    while (ends.back() == i) {
      ends.pop_back();
    }
    if (const auto* apply = std::get_if<RandomApply>(&steps[i])) {
      const auto left = static_cast<double>(ends.back() - i - 1);
      check_within("steps", static_cast<double>(apply->steps), 1, left);
      ends.push_back(i + 1 + static_cast<std::size_t>(apply->steps));
    }
  }
}

/// Draws the parameters of one step after another.
struct Draw {
  void operator()(const HorizontalFlip& step) const {
    reflect(step.probability, Reflection::kHorizontal, drawn.flips_horizontally);
  }
  void operator()(const VerticalFlip& step) const {
    reflect(step.probability, Reflection::kVertical, drawn.flips_vertically);
  }
  void operator()(const ImageOperation& step) const { add({step}, {}); }
  void operator()(const RandomOperation& step) const {
    if (draw_event(step.probability, words)) {
      add({step.operation}, {});
    }
  }
  void operator()(const ColorJitter& step) const {
    std::vector<ImageOperation> operations;
    draw_jitter(step, words, operations);
    add(operations, {});
  }
  void operator()(const RandAugment& step) const {
    std::vector<ImageOperation> operations;
    draw_augment(step, words, height, width, operations);
    add(operations, step.resampling);
  }
  void operator()(const TrivialAugmentWide& step) const {
    std::vector<ImageOperation> operations;
    draw_augment(step, words, operations);
    add(operations, step.resampling);
  }
  void operator()(const RandomErasing& step) const {
    if (const auto box = draw_erasing(step, words, height, width)) {
      drawn.changes.emplace_back(Erasure{*box, step.fill});
    }
  }
  void operator()(const GaussianBlur& step) const {
    const float sigma =
        words.uniform(static_cast<float>(step.sigma.min), static_cast<float>(step.sigma.max));
    drawn.changes.emplace_back(Blur{step.kernel, sigma});
  }
  void operator()(const RandomApply& /*step*/) const {}  // drawn before its steps

  void reflect(double probability, Reflection reflection, bool& flips_first) const {
    const bool happens = draw_event(probability, words);
    if (drawn.changes.empty()) {
      flips_first = flips_first != happens;
    } else if (happens) {
      drawn.changes.emplace_back(reflection);
    }
  }

  void add(const std::vector<ImageOperation>& operations, const Resampling& resampling) const {
    for (const auto& operation : operations) {
      if (operation.kind != ImageOperationKind::kIdentity) {
        drawn.changes.emplace_back(DrawnOperation{operation, resampling});
      }
    }
  }

  RandomWords& words;
  int64_t height;
  int64_t width;
  DrawnSteps& drawn;
};

struct Apply {
  void operator()(const DrawnOperation& operation) const { apply(operation, pixels, spare); }
  void operator()(const Blur& blur) const { gaussian_blur(pixels, blur.kernel, blur.sigma, spare); }
  void operator()(Reflection reflection) const {
    if (reflection == Reflection::kHorizontal) {
      flip_horizontally(pixels);
    } else {
      flip_vertically(pixels);
    }
  }
  void operator()(const Erasure& erasure) const { erase(pixels, erasure.box, erasure.fill); }

  Pixels pixels;
  std::vector<uint8_t>& spare;
};

}  // namespace

ImageSteps::ImageSteps(std::vector<ImageStep> steps) : steps_(std::move(steps)) {
  for (const auto& step : steps_) {
    std::visit(Check{}, step);
  }
  check_nesting(steps_);
}

bool ImageSteps::only_flips() const {
  return std::all_of(steps_.begin(), steps_.end(), [](const ImageStep& step) {
    return std::holds_alternative<HorizontalFlip>(step) ||
           std::holds_alternative<VerticalFlip>(step) || std::holds_alternative<RandomApply>(step);
  });
}

DrawnSteps ImageSteps::draw(RandomWords& words, int64_t height, int64_t width) const {
  DrawnSteps drawn;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const auto* apply = std::get_if<RandomApply>(&steps_[i]);
    if (apply != nullptr && !draw_event(apply->probability, words)) {
      i += static_cast<std::size_t>(apply->steps);
      continue;
    }
    std::visit(Draw{words, height, width, drawn}, steps_[i]);
  }
  return drawn;
}

void apply(const DrawnOperation& drawn, Pixels pixels, std::vector<uint8_t>& spare) {
  const auto [kind, value] = drawn.operation;
  switch (kind) {
    case ImageOperationKind::kIdentity:
      return;
    case ImageOperationKind::kShearX:
      return shear_x(pixels, value, drawn.resampling, spare);
    case ImageOperationKind::kShearY:
      return shear_y(pixels, value, drawn.resampling, spare);
    case ImageOperationKind::kTranslateX:
      return translate(pixels, static_cast<int64_t>(value), 0, drawn.resampling, spare);
    case ImageOperationKind::kTranslateY:
      return translate(pixels, 0, static_cast<int64_t>(value), drawn.resampling, spare);
    case ImageOperationKind::kRotate:
      return rotate(pixels, value, drawn.resampling, spare);
    case ImageOperationKind::kBrightness:
      return adjust_brightness(pixels, value);
    case ImageOperationKind::kSaturation:
      return adjust_saturation(pixels, value);
    case ImageOperationKind::kContrast:
      return adjust_contrast(pixels, value);
    case ImageOperationKind::kSharpness:
      return adjust_sharpness(pixels, value, spare);
    case ImageOperationKind::kPosterize:
      return posterize(pixels, static_cast<int>(value));
    case ImageOperationKind::kSolarize:
      return solarize(pixels, value);
    case ImageOperationKind::kAutocontrast:
      return autocontrast(pixels);
    case ImageOperationKind::kEqualize:
      return equalize(pixels);
    case ImageOperationKind::kInvert:
      return invert(pixels);
    case ImageOperationKind::kHue:
      return adjust_hue(pixels, value);
    case ImageOperationKind::kGray:
      return to_gray(pixels);
  }
}

void apply(const DrawnSteps& drawn, Pixels pixels, std::vector<uint8_t>& spare) {
  if (drawn.flips_horizontally) {
    flip_horizontally(pixels);
  }
  if (drawn.flips_vertically) {
    flip_vertically(pixels);
  }
  for (const auto& change : drawn.changes) {
    std::visit(Apply{pixels, spare}, change);
  }
}

void check(const RandomResizedCrop& crop) { check_area(crop.scale, crop.ratio); }

void check(const RandomErasing& erasing) {
  check_probability(erasing.probability);
  check_area(erasing.scale, erasing.ratio);
}

}  // namespace torchfeed
