// SPDX-License-Identifier: Apache-2.0
#include "core/image/image_plan_reader.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "torchfeed/error.h"
#include "torchfeed/image_plan.h"

namespace torchfeed {
namespace {

constexpr int64_t kMaxSide = 65535;
constexpr int64_t kMaxCount = 1000;

[[noreturn]] void refuse(const std::string& problem) {
  throw Error(ErrorCode::kInvalidArgument, "the steps of an image plan " + problem);
}

/// The numbers of a plan, from front to back.
class Numbers {
 public:
  explicit Numbers(std::span<const double> numbers) : rest_(numbers) {}

  [[nodiscard]] bool is_empty() const { return rest_.empty(); }

  double next() {
    if (rest_.empty()) {
      refuse("end within a step");
    }
    const double number = rest_.front();
    rest_ = rest_.subspan(1);
    return number;
  }

  int64_t next_integer(int64_t min, int64_t max) {
    const double number = next();
    if (!(number >= static_cast<double>(min) && number <= static_cast<double>(max)) ||
        number != std::floor(number)) {
      refuse("must have an integer in [" + std::to_string(min) + ", " + std::to_string(max) +
             "], got " + std::to_string(number));
    }
    return static_cast<int64_t>(number);
  }

  Interval next_interval() {
    const double min = next();
    return {min, next()};
  }

  /// Returns no interval for NaN.
  std::optional<Interval> next_choice() {
    const Interval interval = next_interval();
    return std::isnan(interval.min) ? std::nullopt : std::optional(interval);
  }

  std::array<float, 3> next_channels() {
    std::array<float, 3> channels;
    for (float& channel : channels) {
      channel = static_cast<float>(next());
    }
    return channels;
  }

 private:
  std::span<const double> rest_;
};

Resize read_scaling(Numbers& numbers) {
  const auto dialect = static_cast<ResizeDialect>(numbers.next_integer(0, 2));
  const auto filter = static_cast<ResizeFilter>(numbers.next_integer(0, 3));
  if (dialect == ResizeDialect::kTorchvision && filter != ResizeFilter::kBilinear &&
      filter != ResizeFilter::kBicubic) {
    refuse("must have the filter bilinear or bicubic in the dialect torchvision");
  }
  return {dialect, filter};
}

RandomResizedCrop read_crop(Numbers& numbers) {
  RandomResizedCrop crop;
  crop.scale = numbers.next_interval();
  crop.ratio = numbers.next_interval();
  check(crop);
  return crop;
}

ColorJitter read_jitter(Numbers& numbers) {
  ColorJitter jitter;
  jitter.brightness = numbers.next_choice();
  jitter.contrast = numbers.next_choice();
  jitter.saturation = numbers.next_choice();
  jitter.hue = numbers.next_choice();
  return jitter;
}

RandAugment read_augment(Numbers& numbers) {
  RandAugment augment;
  augment.operations = numbers.next_integer(0, kMaxCount);
  augment.magnitude = numbers.next_integer(0, kMaxCount);
  augment.bins = numbers.next_integer(0, kMaxCount);
  return augment;
}

}  // namespace

ImageRecipe read_plan(std::span<const double> steps) {
  Numbers numbers(steps);
  ImageRecipe recipe;
  std::vector<ImageStep> image_steps;
  bool has_size = false;
  const auto read_size = [&] {
    has_size = true;
    recipe.height = numbers.next_integer(1, kMaxSide);
    recipe.width = numbers.next_integer(1, kMaxSide);
  };
  while (!numbers.is_empty()) {
    switch (static_cast<PlanStep>(numbers.next_integer(kPlanScaling, kPlanTrivialAugmentWide))) {
      case kPlanScaling:
        recipe.resize = read_scaling(numbers);
        break;
      case kPlanShortSide:
        recipe.short_side = numbers.next_integer(1, kMaxSide);
        break;
      case kPlanResize:
        read_size();
        break;
      case kPlanCenterCrop:
        read_size();
        recipe.crops_middle = true;
        break;
      case kPlanRandomResizedCrop:
        read_size();
        recipe.random_crop = read_crop(numbers);
        break;
      case kPlanHorizontalFlip:
        image_steps.emplace_back(HorizontalFlip{numbers.next()});
        break;
      case kPlanVerticalFlip:
        image_steps.emplace_back(VerticalFlip{numbers.next()});
        break;
      case kPlanColorJitter:
        image_steps.emplace_back(read_jitter(numbers));
        break;
      case kPlanRandAugment:
        image_steps.emplace_back(read_augment(numbers));
        break;
      case kPlanTrivialAugmentWide:
        image_steps.emplace_back(TrivialAugmentWide{numbers.next_integer(0, kMaxCount)});
        break;
      case kPlanNormalize: {
        const std::array<float, 3> mean = numbers.next_channels();
        recipe.normalisation.emplace(mean, numbers.next_channels());
        break;
      }
    }
  }
  if (!has_size) {
    refuse("must decide the size of the row");
  }
  recipe.steps = ImageSteps(std::move(image_steps));
  return recipe;
}

}  // namespace torchfeed
