// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/image_cuts.h"

#include <ATen/ATen.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/image/decode/exif_orientation.h"
#include "core/image/pixels.h"
#include "core/image/recipe/image_recipe.h"
#include "core/image/recipe/plan_cache.h"
#include "torch/base/guard.h"

namespace torchfeed {
namespace {

constexpr int64_t kRows = 1;  // the dimensions of an image
constexpr int64_t kColumns = 2;
constexpr float kByteScale = 1.0F / 255;

const ImageRecipe& cut_recipe_of(const double* steps, int64_t numbers) {
  thread_local PlanCache plans;
  return plans.recipe({steps, static_cast<std::size_t>(numbers)});
}

void require_cuts(const ImageRecipe& recipe) {
  if (!recipe.last_erasings.empty() || !recipe.steps.only_flips()) {
    throw Error(ErrorCode::kInvalidArgument,
                "the plan must only crop, scale, flip and normalize here, but it has a step that "
                "changes colors, blurs or erases");
  }
  if (recipe.resize.filter != ResizeFilter::kBilinear &&
      recipe.resize.filter != ResizeFilter::kBicubic) {
    throw Error(ErrorCode::kInvalidArgument, "the filter must be bilinear or bicubic here");
  }
  if (recipe.resize.dialect == ResizeDialect::kTorchvisionPlain) {
    throw Error(ErrorCode::kInvalidArgument, "scaling must be antialiased here");
  }
}

/// Turns an image upright.
///
/// @param orientation  EXIF's number, 1 to 8
at::Tensor turned(const at::Tensor& pixels, int orientation) {
  constexpr int kFirstSwapped = 5;  // rows become columns from here on
  std::vector<int64_t> reversed;
  if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) {
    reversed.push_back(kColumns);
  }
  if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) {
    reversed.push_back(kRows);
  }
  const at::Tensor straight = reversed.empty() ? pixels : pixels.flip(reversed);
  return orientation >= kFirstSwapped ? straight.transpose(kRows, kColumns) : straight;
}

at::Tensor scaled(const at::Tensor& pixels, const Placement& placement, ResizeFilter filter) {
  if (pixels.size(kRows) == placement.height && pixels.size(kColumns) == placement.width) {
    return pixels;
  }
  const at::Tensor numbers = pixels.to(at::kFloat).unsqueeze(0);
  const std::array<int64_t, 2> size{placement.height, placement.width};
  at::Tensor result = filter == ResizeFilter::kBilinear
                          ? at::_upsample_bilinear2d_aa(numbers, size, /*align_corners=*/false)
                          : at::_upsample_bicubic2d_aa(numbers, size, /*align_corners=*/false);
  return result.squeeze(0).round_().clamp_(0, 255).to(at::kByte);
}

/// Returns a part of an image, black where it lies outside of that.
at::Tensor window_of(const at::Tensor& pixels, const Region& window) {
  const int64_t left = -window.left;
  const int64_t top = -window.top;
  const int64_t right = window.left + window.width - pixels.size(kColumns);
  const int64_t bottom = window.top + window.height - pixels.size(kRows);
  if (left <= -pixels.size(kColumns) || right <= -pixels.size(kColumns) ||
      top <= -pixels.size(kRows) || bottom <= -pixels.size(kRows)) {  // nothing of the image
    return at::zeros({kChannels, window.height, window.width}, pixels.options());
  }
  if (left == 0 && top == 0 && right == 0 && bottom == 0) {
    return pixels;
  }
  return at::constant_pad_nd(pixels, {left, right, top, bottom}, 0);  // negative numbers cut
}

}  // namespace

void ImageCuts::check(const double* steps, int64_t numbers) {
  guarded([&] { require_cuts(cut_recipe_of(steps, numbers)); });
}

torch::Tensor ImageCuts::cut(const double* steps, int64_t numbers, const uint8_t* encoded,
                             int64_t bytes, int64_t seed, int64_t epoch, int64_t index,
                             const torch::Tensor& pixels) {
  return guarded([&] {
    const ImageRecipe& recipe = cut_recipe_of(steps, numbers);
    require_cuts(recipe);
    if (pixels.dim() != 3 || pixels.size(0) != kChannels || pixels.scalar_type() != at::kByte) {
      throw Error(ErrorCode::kInvalidArgument, "pixels must be uint8 [3, height, width]");
    }
    const int orientation = recipe.follows_orientation
                                ? exif_orientation({encoded, static_cast<std::size_t>(bytes)})
                                : 1;
    const at::Tensor upright = turned(pixels, orientation);
    SampleWords words(seed, epoch, index);
    const Placement placement = place(recipe, words, upright.size(kRows), upright.size(kColumns));
    const DrawnSteps drawn = recipe.steps.draw(words, recipe.height, recipe.width);
    const Region& crop = placement.crop;
    at::Tensor row =
        upright.narrow(kRows, crop.top, crop.height).narrow(kColumns, crop.left, crop.width);
    row = window_of(scaled(row, placement, recipe.resize.filter), placement.window);
    if (drawn.flips_horizontally) {
      row = row.flip({kColumns});
    }
    if (drawn.flips_vertically) {
      row = row.flip({kRows});
    }
    return row.contiguous();
  });
}

torch::Tensor ImageCuts::finish(const double* steps, int64_t numbers, const torch::Tensor& batch) {
  return guarded([&] {
    const ImageRecipe& recipe = cut_recipe_of(steps, numbers);
    if (!recipe.normalization) {
      return batch;
    }
    const auto channels = [&](const auto& values) {
      return at::tensor(at::ArrayRef<float>(values.data(), values.size()))
          .to(batch.device())
          .view({1, kChannels, 1, 1});
    };
    return batch.to(at::kFloat)
        .mul_(kByteScale)
        .sub_(channels(recipe.normalization->mean()))
        .div_(channels(recipe.normalization->std()));
  });
}

}  // namespace torchfeed
