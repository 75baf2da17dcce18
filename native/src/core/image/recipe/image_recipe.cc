// SPDX-License-Identifier: Apache-2.0
#include "core/image/recipe/image_recipe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/image/decode/exif_orientation.h"
#include "core/image/decode/image_source.h"
#include "core/image/decode/oriented_source.h"
#include "core/image/pixels.h"

namespace torchfeed {
namespace {

/// Returns where the middle `length` of a side begins, as torchvision's `CenterCrop` has it: before
/// the image if that is smaller.
int64_t middle(int64_t side, int64_t length) {
  if (length > side) {
    return -((length - side) / 2);
  }
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(side - length) / 2));
}

int64_t scaled_side(int64_t short_side, int64_t from_short, int64_t from_long) {
  return static_cast<int64_t>(static_cast<double>(short_side * from_long) /
                              static_cast<double>(from_short));
}

std::unique_ptr<PixelStore> row_store(const ImageRecipe& recipe, std::byte* target,
                                      const DrawnSteps& drawn, Stores stores) {
  const StoredShape shape{recipe.width, recipe.height, drawn.flips_horizontally,
                          drawn.flips_vertically, stores};
  return recipe.normalization
             ? float_planes(reinterpret_cast<float*>(target), shape, *recipe.normalization)
             : byte_planes(reinterpret_cast<uint8_t*>(target), shape);
}

int64_t element_bytes(const ImageRecipe& recipe) {
  return static_cast<int64_t>(recipe.normalization ? sizeof(float) : sizeof(uint8_t));
}

/// Writes 0 into a rectangle of all channels of a row.
void clear(const ImageRecipe& recipe, const Box& box, std::byte* target) {
  const int64_t element = element_bytes(recipe);
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t y = box.top; y < box.top + box.height; ++y) {
      const int64_t at = (c * recipe.height + y) * recipe.width + box.left;
      std::memset(target + element * at, 0, static_cast<std::size_t>(element * box.width));
    }
  }
}

/// Decodes an image, applies the drawn steps, and writes the row.
void write(const ImageRecipe& recipe, ImageSource& source, const Placement& placement,
           const DrawnSteps& drawn, std::byte* target, Stores stores) {
  if (drawn.only_flips()) {
    const auto store = row_store(recipe, target, drawn, stores);
    pass_image(source, placement, recipe.resize, *store);
    return;
  }
  const auto row_length = static_cast<std::size_t>(kChannels * recipe.width);
  std::vector<uint8_t> memory(row_length * static_cast<std::size_t>(recipe.height) + kRowSlack);
  const Pixels pixels{memory.data(), recipe.width, recipe.height};
  pass_image(source, placement, recipe.resize, *interleaved(pixels, false, false));
  std::vector<uint8_t> spare;
  apply(drawn, pixels, spare);
  const auto store = row_store(recipe, target, {}, stores);
  for (int64_t y = 0; y < recipe.height; ++y) {
    store->put_row(y, memory.data() + static_cast<std::size_t>(y) * row_length);
  }
}

}  // namespace

int64_t ImageRecipe::row_bytes() const { return kChannels * height * width * element_bytes(*this); }

Placement place(const ImageRecipe& recipe, RandomWords& words, int64_t height, int64_t width) {
  Placement placement{
      {0, 0, width, height}, recipe.width, recipe.height, {0, 0, recipe.width, recipe.height}};
  if (recipe.random_crop) {
    const Box box = draw_crop(*recipe.random_crop, words, height, width);
    placement.crop = {box.left, box.top, box.width, box.height};
    return placement;
  }
  if (!recipe.short_side && !recipe.crops_middle && !recipe.corner) {
    return placement;
  }
  placement.width = width;
  placement.height = height;
  if (recipe.short_side) {
    const int64_t side = *recipe.short_side;
    placement.width = width <= height ? side : scaled_side(side, height, width);
    placement.height = width <= height ? scaled_side(side, width, height) : side;
    require_pixels(placement.width, placement.height, recipe.decoding.max_pixels);
  }
  if (recipe.corner) {
    placement.window.left = recipe.corner->left;
    placement.window.top = recipe.corner->top;
    return placement;
  }
  placement.window.left = middle(placement.width, recipe.width);
  placement.window.top = middle(placement.height, recipe.height);
  return placement;
}

void make_row(const ImageRecipe& recipe, ImageSource& source, RandomWords& words, std::byte* target,
              Stores stores) {
  const Placement placement = place(recipe, words, source.height(), source.width());
  const DrawnSteps drawn = recipe.steps.draw(words, recipe.height, recipe.width);
  write(recipe, source, placement, drawn, target, stores);
  for (const auto& erasing : recipe.last_erasings) {
    if (const auto box = draw_erasing(erasing, words, recipe.height, recipe.width)) {
      clear(recipe, *box, target);
    }
  }
}

void make_row(const ImageRecipe& recipe, std::span<const uint8_t> encoded, RandomWords& words,
              std::byte* target, Stores stores) {
  std::unique_ptr<ImageSource> source = open_image(encoded, recipe.decoding);
  if (recipe.follows_orientation) {
    source = oriented(std::move(source), exif_orientation(encoded));
  }
  make_row(recipe, *source, words, target, stores);
}

}  // namespace torchfeed
