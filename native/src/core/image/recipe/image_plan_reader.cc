// SPDX-License-Identifier: Apache-2.0
#include "core/image/recipe/image_plan_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/rows/plan_numbers.h"
#include "torchfeed/image_plan.h"

namespace torchfeed {
namespace {

constexpr int64_t kMaxSide = 65535;
constexpr int64_t kMaxCount = 1000;
constexpr ImageOperation kGray{ImageOperationKind::kGray, 0};

Interval next_interval(PlanNumbers& numbers) {
  const double min = numbers.next();
  return {min, numbers.next()};
}

/// Returns no interval for NaN.
std::optional<Interval> next_choice(PlanNumbers& numbers) {
  const Interval interval = next_interval(numbers);
  return std::isnan(interval.min) ? std::nullopt : std::optional(interval);
}

std::array<float, 3> next_channels(PlanNumbers& numbers) {
  std::array<float, 3> channels;
  for (float& channel : channels) {
    channel = static_cast<float>(numbers.next());
  }
  return channels;
}

Resize read_scaling(PlanNumbers& numbers) {
  const auto dialect = static_cast<ResizeDialect>(numbers.next_integer(0, 3));
  const auto filter = static_cast<ResizeFilter>(numbers.next_integer(0, 3));
  if (dialect == ResizeDialect::kTorchvision && filter != ResizeFilter::kBilinear &&
      filter != ResizeFilter::kBicubic) {
    numbers.refuse("must have the filter bilinear or bicubic in the dialect torchvision");
  }
  if (dialect == ResizeDialect::kTorchvisionPlain && filter != ResizeFilter::kBilinear) {
    numbers.refuse("must have the filter bilinear without antialiasing");
  }
  return {dialect, filter};
}

RandomResizedCrop read_crop(PlanNumbers& numbers) {
  RandomResizedCrop crop;
  crop.scale = next_interval(numbers);
  crop.ratio = next_interval(numbers);
  check(crop);
  return crop;
}

ColorJitter read_jitter(PlanNumbers& numbers) {
  ColorJitter jitter;
  jitter.brightness = next_choice(numbers);
  jitter.contrast = next_choice(numbers);
  jitter.saturation = next_choice(numbers);
  jitter.hue = next_choice(numbers);
  return jitter;
}

RandomErasing read_erasing(PlanNumbers& numbers) {
  RandomErasing erasing;
  erasing.probability = numbers.next();
  erasing.scale = next_interval(numbers);
  erasing.ratio = next_interval(numbers);
  check(erasing);
  return erasing;
}

RandAugment read_augment(PlanNumbers& numbers) {
  RandAugment augment;
  augment.operations = numbers.next_integer(0, kMaxCount);
  augment.magnitude = numbers.next_integer(0, kMaxCount);
  augment.bins = numbers.next_integer(0, kMaxCount);
  return augment;
}

}  // namespace

ImageRecipe read_plan(std::span<const double> steps) {
  PlanNumbers numbers("an image plan", steps);
  ImageRecipe recipe;
  std::vector<ImageStep> image_steps;
  bool has_size = false;
  int64_t kernel = 1;  // the largest of a blur
  const auto read_size = [&] {
    has_size = true;
    recipe.height = numbers.next_integer(1, kMaxSide);
    recipe.width = numbers.next_integer(1, kMaxSide);
  };
  while (!numbers.is_empty()) {
    switch (static_cast<PlanStep>(numbers.next_integer(kPlanScaling, kPlanClipGray16))) {
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
      case kPlanCrop: {
        read_size();
        const int64_t top = numbers.next_integer(-kMaxSide, kMaxSide);
        recipe.corner = Corner{numbers.next_integer(-kMaxSide, kMaxSide), top};
        break;
      }
      case kPlanMaxPixels:
        recipe.decoding.max_pixels = numbers.next_integer(1, kMaxSide * kMaxSide);
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
      case kPlanRandomErasing: {
        RandomErasing erasing = read_erasing(numbers);
        for (uint8_t& channel : erasing.fill) {
          channel = static_cast<uint8_t>(numbers.next_integer(0, 255));
        }
        image_steps.emplace_back(erasing);
        break;
      }
      case kPlanRandomErasingToZero:
        recipe.last_erasings.push_back(read_erasing(numbers));
        break;
      case kPlanGaussianBlur: {
        GaussianBlur blur{numbers.next_integer(1, kMaxSide)};
        blur.sigma = next_interval(numbers);
        kernel = std::max(kernel, blur.kernel);
        image_steps.emplace_back(blur);
        break;
      }
      case kPlanGrayscale:
        image_steps.emplace_back(kGray);
        break;
      case kPlanRandomGrayscale:
        image_steps.emplace_back(RandomOperation{numbers.next(), kGray});
        break;
      case kPlanRandomApply: {
        const double probability = numbers.next();
        image_steps.emplace_back(RandomApply{probability, numbers.next_integer(1, kMaxCount)});
        break;
      }
      case kPlanExifOrientation:
        recipe.follows_orientation = true;
        break;
      case kPlanClipGray16:
        recipe.decoding.clips_gray16 = true;
        break;
      case kPlanNormalize: {
        const std::array<float, 3> mean = next_channels(numbers);
        recipe.normalization.emplace(mean, next_channels(numbers));
        break;
      }
    }
  }
  if (!has_size) {
    numbers.refuse("must decide the size of the row");
  }
  if (kernel / 2 >= std::min(recipe.height, recipe.width)) {
    numbers.refuse("must have blurs whose kernel is smaller than twice each side of the row, got " +
                   std::to_string(kernel));
  }
  recipe.steps = ImageSteps(std::move(image_steps));
  return recipe;
}

}  // namespace torchfeed
