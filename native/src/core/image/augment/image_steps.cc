// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/image_steps.h"

#include <cmath>
#include <sstream>
#include <string>

#include "core/image/augment/affine.h"
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

struct Check {
  void operator()(const HorizontalFlip& step) const { check_probability(step.probability); }
  void operator()(const VerticalFlip& step) const { check_probability(step.probability); }
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
};

enum class Phase { kFlip, kOperation, kErasing };

struct PhaseOf {
  Phase operator()(const HorizontalFlip&) const { return Phase::kFlip; }
  Phase operator()(const VerticalFlip&) const { return Phase::kFlip; }
  Phase operator()(const RandomErasing&) const { return Phase::kErasing; }
  template <class Step>
  Phase operator()(const Step&) const {
    return Phase::kOperation;
  }
};

/// Draws the parameters of one step after another.
struct Draw {
  void operator()(const HorizontalFlip& step) const {
    drawn.flips_horizontally = drawn.flips_horizontally != draw_event(step.probability, words);
  }
  void operator()(const VerticalFlip& step) const {
    drawn.flips_vertically = drawn.flips_vertically != draw_event(step.probability, words);
  }
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
      drawn.erasures.push_back({*box, step.fill});
    }
  }

  void add(const std::vector<ImageOperation>& operations, const Resampling& resampling) const {
    for (const auto& operation : operations) {
      if (operation.kind != ImageOperationKind::kIdentity) {
        drawn.operations.push_back({operation, resampling});
      }
    }
  }

  RandomWords& words;
  int64_t height;
  int64_t width;
  DrawnSteps& drawn;
};

}  // namespace

ImageSteps::ImageSteps(std::vector<ImageStep> steps) : steps_(std::move(steps)) {
  Phase reached = Phase::kFlip;
  for (const auto& step : steps_) {
    std::visit(Check{}, step);
    const Phase phase = std::visit(PhaseOf{}, step);
    if (phase < reached) {
      reject("the order of steps must be flips, then operations and augmentations, then erasing");
    }
    reached = phase;
  }
}

bool ImageSteps::only_flips() const {
  return steps_.empty() || std::visit(PhaseOf{}, steps_.back()) == Phase::kFlip;
}

DrawnSteps ImageSteps::draw(RandomWords& words, int64_t height, int64_t width) const {
  DrawnSteps drawn;
  for (const auto& step : steps_) {
    std::visit(Draw{words, height, width, drawn}, step);
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
  for (const auto& operation : drawn.operations) {
    apply(operation, pixels, spare);
  }
  for (const auto& erasure : drawn.erasures) {
    erase(pixels, erasure.box, erasure.fill);
  }
}

void check(const RandomResizedCrop& crop) { check_area(crop.scale, crop.ratio); }

void check(const RandomErasing& erasing) {
  check_probability(erasing.probability);
  check_area(erasing.scale, erasing.ratio);
}

}  // namespace torchfeed
