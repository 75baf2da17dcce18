// SPDX-License-Identifier: Apache-2.0
#include "core/rows/row_recipe.h"

#include <cstddef>
#include <string>
#include <tuple>

#include "core/draws/center_box.h"
#include "core/draws/random_draws.h"
#include "core/rows/plan_numbers.h"
#include "torchfeed/error.h"
#include "torchfeed/row_plan.h"

namespace torchfeed {
namespace {

constexpr int64_t kMaxSide = 1 << 24;
constexpr int64_t kMaxChannels = 1 << 16;
constexpr int64_t kMaxElement = 15;
constexpr const char* kSources = "rows to be transformed must be integers or floats of C++";

[[noreturn]] void refuse_plan(const std::string& problem) {
  throw Error(ErrorCode::kInvalidArgument, problem);
}

int64_t element_bytes(int64_t dtype) {
  switch (static_cast<Element>(dtype)) {
    case Element::kUint8:
    case Element::kInt8:
      return 1;
    case Element::kInt16:
    case Element::kUint16:
    case Element::kFloat16:
    case Element::kBFloat16:
      return 2;
    case Element::kInt32:
    case Element::kUint32:
    case Element::kFloat32:
      return 4;
    case Element::kInt64:
    case Element::kFloat64:
      return 8;
  }
  refuse_plan(kSources);
}

bool is_float(Element element) {
  return element == Element::kFloat32 || element == Element::kFloat64;
}

PartSize read_size(PlanNumbers& numbers) {
  const int64_t height = numbers.next_integer(1, kMaxSide);
  return {height, numbers.next_integer(1, kMaxSide)};
}

Box read_box(PlanNumbers& numbers) {
  const int64_t top = numbers.next_integer(-kMaxSide, kMaxSide);
  const int64_t left = numbers.next_integer(-kMaxSide, kMaxSide);
  const PartSize size = read_size(numbers);
  return {top, left, size.height, size.width};
}

std::vector<ElementScale> read_channels(PlanNumbers& numbers) {
  std::vector<ElementScale> channels(
      static_cast<std::size_t>(numbers.next_integer(1, kMaxChannels)));
  for (ElementScale& channel : channels) {
    channel.mean = static_cast<float>(numbers.next());
  }
  for (ElementScale& channel : channels) {
    channel.std = static_cast<float>(numbers.next());
  }
  return channels;
}

/// Returns the size of the part that every row becomes, if one is cut out.
std::optional<PartSize> part_size(const RowRecipe& recipe) {
  if (recipe.crop) {
    return PartSize{recipe.crop->height, recipe.crop->width};
  }
  return recipe.center ? recipe.center : recipe.random_crop;
}

/// Returns where a random part begins; a word is drawn only if there is a choice.
int64_t draw_begin(RandomWords& words, int64_t side, int64_t length, int64_t margin) {
  const int64_t choices = side + 2 * margin - length + 1;
  return (choices > 1 ? words.below(choices) : 0) - margin;
}

void check_parts(const RowRecipe& recipe, const RowShape& source) {
  const std::size_t dimensions = source.sizes.size();
  if ((part_size(recipe) || recipe.flip_probability) && dimensions < 2) {
    refuse_plan("a row must have a height and a width to be cropped or reflected");
  }
  if (recipe.random_crop) {
    const int64_t height = source.sizes[dimensions - 2] + 2 * recipe.margin;
    const int64_t width = source.sizes[dimensions - 1] + 2 * recipe.margin;
    if (recipe.random_crop->height > height || recipe.random_crop->width > width) {
      refuse_plan("a random crop must not exceed the row and its padding");
    }
  }
  if (recipe.channels.size() > 1 &&
      (dimensions < 3 ||
       source.sizes[dimensions - 3] != static_cast<int64_t>(recipe.channels.size()))) {
    refuse_plan("a row must have as many channels as the mean");
  }
}

void check_cast(const RowRecipe& recipe, const RowShape& source) {
  const auto from = static_cast<Element>(source.dtype);
  if (is_half(from)) {
    refuse_plan(kSources);
  }
  std::ignore = element_bytes(source.dtype);
  if (!recipe.cast) {
    return;
  }
  const Element to = *recipe.cast;
  if (recipe.makes_floats() && to != Element::kFloat32 && !is_half(to)) {
    refuse_plan("scaled or normalized rows are float32, or rounded to float16 or bfloat16");
  }
  if (to != Element::kInt64 && !is_float(to) && !is_half(to)) {
    refuse_plan("rows can be cast to float16, bfloat16, float32, float64 and int64");
  }
  if (to == Element::kInt64 && is_float(from)) {
    refuse_plan("floats cannot be cast to int64");
  }
}

}  // namespace

RowRecipe read_row_plan(std::span<const double> steps) {
  PlanNumbers numbers("a transform of rows", steps);
  RowRecipe recipe;
  while (!numbers.is_empty()) {
    switch (static_cast<RowStep>(numbers.next_integer(kRowCrop, kRowCast))) {
      case kRowCrop:
        recipe.crop = read_box(numbers);
        break;
      case kRowCenterCrop:
        recipe.center = read_size(numbers);
        break;
      case kRowRandomCrop:
        recipe.random_crop = read_size(numbers);
        recipe.margin = numbers.next_integer(0, kMaxSide);
        break;
      case kRowHorizontalFlip:
        recipe.flip_probability = numbers.next();
        break;
      case kRowScale:
        recipe.factor = static_cast<float>(numbers.next());
        break;
      case kRowNormalize:
        recipe.channels = read_channels(numbers);
        break;
      case kRowCast:
        recipe.cast = static_cast<Element>(numbers.next_integer(0, kMaxElement));
        break;
    }
  }
  return recipe;
}

RowShape result_of(const RowRecipe& recipe, const RowShape& source) {
  check_parts(recipe, source);
  check_cast(recipe, source);
  RowShape result = source;
  if (recipe.cast) {
    result.dtype = static_cast<int64_t>(*recipe.cast);
  } else if (recipe.makes_floats()) {
    result.dtype = static_cast<int64_t>(Element::kFloat32);
  }
  int64_t bytes = element_bytes(result.dtype);
  if (const auto size = part_size(recipe)) {
    result.sizes[result.sizes.size() - 2] = size->height;
    result.sizes[result.sizes.size() - 1] = size->width;
  }
  for (const int64_t size : result.sizes) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      refuse_plan("a row must fit into memory");
    }
  }
  result.bytes = bytes;
  return result;
}

RowPart draw_part(const RowRecipe& recipe, RandomWords& words, int64_t height, int64_t width) {
  RowPart part{{0, 0, height, width}, false};
  if (recipe.crop) {
    part.box = *recipe.crop;
  } else if (recipe.center) {
    part.box = center_box(height, width, recipe.center->height, recipe.center->width);
  } else if (recipe.random_crop) {
    const auto [h, w] = *recipe.random_crop;
    const int64_t top = draw_begin(words, height, h, recipe.margin);
    part.box = {top, draw_begin(words, width, w, recipe.margin), h, w};
  }
  part.flips = recipe.flip_probability && draw_event(*recipe.flip_probability, words);
  return part;
}

}  // namespace torchfeed
