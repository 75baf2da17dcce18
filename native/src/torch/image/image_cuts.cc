// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/image_cuts.h"

#include <ATen/ATen.h>

#include <algorithm>
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
constexpr uint8_t kHorizontally = 1;  // flips
constexpr uint8_t kVertically = 2;

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

bool is_scaled(const at::Tensor& pixels, const Placement& placement) {
  return pixels.size(kRows) != placement.height || pixels.size(kColumns) != placement.width;
}

/// Scales an image into a float tensor of the size of the placement, without rounding.
void scale(const at::Tensor& pixels, const Placement& placement, ResizeFilter filter,
           const at::Tensor& target) {
  const at::Tensor numbers = pixels.to(at::kFloat).unsqueeze(0);  // no operation on floats
  const std::array<int64_t, 2> size{placement.height, placement.width};
  at::Tensor to = target.unsqueeze(0);
  if (filter == ResizeFilter::kBilinear) {
    at::_upsample_bilinear2d_aa_out(to, numbers, size, /*align_corners=*/false);
  } else {
    at::_upsample_bicubic2d_aa_out(to, numbers, size, /*align_corners=*/false);
  }
}

/// Returns the part of a tensor that begins at a place of a larger or smaller one, or before it.
at::Tensor part_of(const at::Tensor& tensor, const Region& part) {
  return tensor.narrow(kRows, part.top, part.height).narrow(kColumns, part.left, part.width);
}

/// Copies a part of an image into a row, which is black where the part lies outside of the image.
void copy_window(const at::Tensor& pixels, const Region& window, const at::Tensor& row) {
  const int64_t left = std::max<int64_t>(window.left, 0);
  const int64_t top = std::max<int64_t>(window.top, 0);
  const int64_t width = std::min(window.left + window.width, pixels.size(kColumns)) - left;
  const int64_t height = std::min(window.top + window.height, pixels.size(kRows)) - top;
  if (width < window.width || height < window.height) {
    row.zero_();
  }
  if (width > 0 && height > 0) {
    part_of(row, {left - window.left, top - window.top, width, height})
        .copy_(part_of(pixels, {left, top, width, height}));
  }
}

/// Turns the chosen rows of a batch round.
at::Tensor flipped(const at::Tensor& batch, const uint8_t* flips, uint8_t flip, int64_t dimension) {
  const int64_t count = batch.size(0);
  const std::span<const uint8_t> each(flips, static_cast<std::size_t>(count));
  if (std::none_of(each.begin(), each.end(), [&](uint8_t row) { return (row & flip) != 0; })) {
    return batch;
  }
  at::Tensor chosen = at::empty({count, 1, 1, 1}, at::kBool);
  std::transform(each.begin(), each.end(), chosen.mutable_data_ptr<bool>(),
                 [&](uint8_t row) { return (row & flip) != 0; });
  return at::where(chosen.to(batch.device()), batch.flip({dimension}), batch);
}

void require_pixels(const at::Tensor& pixels) {
  const at::ScalarType type = pixels.scalar_type();
  if (pixels.dim() != 3 || pixels.size(0) != kChannels ||
      (type != at::kByte && type != at::kFloat)) {
    throw Error(ErrorCode::kInvalidArgument, "pixels must be uint8 or float32 [3, height, width]");
  }
}

void require_row(const at::Tensor& rows, int64_t row, const ImageRecipe& recipe) {
  const std::array<int64_t, 3> shape{kChannels, recipe.height, recipe.width};
  if (rows.dim() != 4 || rows.scalar_type() != at::kFloat || row < 0 || row >= rows.size(0) ||
      rows.sizes().slice(1) != at::IntArrayRef(shape)) {
    throw Error(ErrorCode::kInvalidArgument,
                "rows must be float32 [B, 3, height, width] of the plan, and hold the row");
  }
}

}  // namespace

void ImageCuts::check(const double* steps, int64_t numbers) {
  guarded([&] { require_cuts(cut_recipe_of(steps, numbers)); });
}

bool ImageCuts::turns(const double* steps, int64_t numbers) {
  return guarded([&] { return cut_recipe_of(steps, numbers).follows_orientation; });
}

int64_t ImageCuts::cut(const double* steps, int64_t numbers, const uint8_t* encoded, int64_t bytes,
                       int64_t seed, int64_t epoch, int64_t index, const torch::Tensor& pixels,
                       const torch::Tensor& rows, int64_t row) {
  return guarded([&]() -> int64_t {
    const ImageRecipe& recipe = cut_recipe_of(steps, numbers);
    require_cuts(recipe);
    require_pixels(pixels);
    require_row(rows, row, recipe);
    const int orientation = recipe.follows_orientation
                                ? exif_orientation({encoded, static_cast<std::size_t>(bytes)})
                                : 1;
    const at::Tensor upright = turned(pixels, orientation);
    SampleWords words(seed, epoch, index);
    const Placement placement = place(recipe, words, upright.size(kRows), upright.size(kColumns));
    const DrawnSteps drawn = recipe.steps.draw(words, recipe.height, recipe.width);
    const at::Tensor crop = part_of(upright, placement.crop);
    const at::Tensor target = rows.select(0, row);
    const Region& window = placement.window;
    const bool is_whole = window.left == 0 && window.top == 0 && window.width == placement.width &&
                          window.height == placement.height;
    if (!is_scaled(crop, placement)) {
      copy_window(crop, window, target);
    } else if (is_whole) {
      scale(crop, placement, recipe.resize.filter, target);
    } else {
      const at::Tensor whole =
          at::empty({kChannels, placement.height, placement.width}, rows.options());
      scale(crop, placement, recipe.resize.filter, whole);
      copy_window(whole, window, target);
    }
    return (drawn.flips_horizontally ? kHorizontally : 0) +
           (drawn.flips_vertically ? kVertically : 0);
  });
}

torch::Tensor ImageCuts::finish(const double* steps, int64_t numbers, const torch::Tensor& rows,
                                const uint8_t* flips) {
  return guarded([&] {
    const ImageRecipe& recipe = cut_recipe_of(steps, numbers);
    at::Tensor batch = rows.round_().clamp_(0, 255).to(at::kByte);
    batch = flipped(batch, flips, kHorizontally, 1 + kColumns);
    batch = flipped(batch, flips, kVertically, 1 + kRows);
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

torch::Tensor ImageCuts::decoded(const double* steps, int64_t numbers, const uint8_t* encoded,
                                 int64_t bytes, int64_t seed, int64_t epoch, int64_t index) {
  return guarded([&] {
    ImageRecipe recipe = cut_recipe_of(steps, numbers);
    recipe.normalization.reset();
    at::Tensor row = at::empty({kChannels, recipe.height, recipe.width}, at::kByte);
    SampleWords words(seed, epoch, index);
    make_row(recipe, {encoded, static_cast<std::size_t>(bytes)}, words,
             static_cast<std::byte*>(row.mutable_data_ptr()));
    return row;
  });
}

}  // namespace torchfeed
