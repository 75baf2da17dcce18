// SPDX-License-Identifier: Apache-2.0
#include "core/recipe_column.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr int64_t kMostTransforms = 1000;

template <int64_t kBytes>
void reverse_elements(std::byte* row, int64_t count) {
  std::byte* last = row + (count - 1) * kBytes;
  for (; row < last; row += kBytes, last -= kBytes) {
    std::swap_ranges(row, row + kBytes, last);
  }
}

/// Reverses the order of elements of a size.
void reverse(std::byte* row, int64_t count, std::size_t bytes) {
  switch (bytes) {
    case 1:
      return reverse_elements<1>(row, count);
    case 2:
      return reverse_elements<2>(row, count);
    case 4:
      return reverse_elements<4>(row, count);
    default:
      return reverse_elements<8>(row, count);
  }
}

}  // namespace

RecipeColumn::RecipeColumn(const SharedColumn& source, const RowRecipe& recipe)
    : TransformedColumn(source, result_of(recipe, source->row())),
      recipe_(recipe),
      values_(recipe, source->row().dtype, row().dtype),
      stream_(source->random_streams()) {
  if (stream_ >= kMostTransforms) {  // their destructors call one another
    throw Error(ErrorCode::kInvalidArgument, "rows can be transformed at most " +
                                                 std::to_string(kMostTransforms) +
                                                 " times, one after the other");
  }
  const std::vector<int64_t>& sizes = source->row().sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    int64_t& length = i + 1 == sizes.size() ? width_ : i + 2 == sizes.size() ? height_ : planes_;
    length *= sizes[i];
  }
  zeros_.resize(values_.channels() * values_.result_bytes());
  alignas(int64_t) const std::array<std::byte, sizeof(int64_t)> zero{};
  for (std::size_t c = 0; c < values_.channels(); ++c) {
    values_.convert(zeros_.data() + c * values_.result_bytes(), zero.data(), 1, c);
  }
}

void RecipeColumn::transform(std::byte* target, const std::byte* source,
                             const SampleKey& key) const {
  if (row().bytes == 0) {
    return;
  }
  const auto plane = static_cast<std::size_t>(height_ * width_);
  const auto planes = static_cast<std::size_t>(planes_);
  const std::size_t channels = values_.channels();
  if (!recipe_.changes_place()) {
    const std::size_t parts = channels == 1 ? 1 : planes;
    const std::size_t length = channels == 1 ? planes * plane : plane;
    for (std::size_t i = 0; i < parts; ++i) {
      values_.convert(target + i * length * values_.result_bytes(),
                      source + i * length * values_.source_bytes(), length, i % channels);
    }
    return;
  }
  SampleWords words(key.seed, key.epoch, key.index, stream_);
  const RowPart part = draw_part(recipe_, words, height_, width_);
  const auto made = static_cast<std::size_t>(part.box.height * part.box.width);
  for (std::size_t i = 0; i < planes; ++i) {
    transform_plane(target + i * made * values_.result_bytes(),
                    source + i * plane * values_.source_bytes(), i % channels, part);
  }
}

void RecipeColumn::transform_plane(std::byte* target, const std::byte* source, std::size_t channel,
                                   const RowPart& part) const {
  const Box& box = part.box;
  const auto bytes = static_cast<int64_t>(values_.result_bytes());
  const auto source_bytes = static_cast<int64_t>(values_.source_bytes());
  const int64_t left = std::clamp<int64_t>(-box.left, 0, box.width);
  const int64_t right = std::clamp(width_ - box.left, left, box.width);
  for (int64_t y = 0; y < box.height; ++y) {
    std::byte* const row = target + y * box.width * bytes;
    const int64_t from = box.top + y;
    const bool inside = from >= 0 && from < height_ && left < right;
    const int64_t begin = inside ? left : box.width;
    const int64_t end = inside ? right : box.width;
    fill(row, begin, channel);
    if (inside) {
      values_.convert(row + begin * bytes,
                      source + (from * width_ + box.left + begin) * source_bytes,
                      static_cast<std::size_t>(end - begin), channel);
    }
    fill(row + end * bytes, box.width - end, channel);
    if (part.flips) {
      reverse(row, box.width, values_.result_bytes());
    }
  }
}

void RecipeColumn::fill(std::byte* target, int64_t count, std::size_t channel) const {
  const std::size_t bytes = values_.result_bytes();
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target + static_cast<std::size_t>(i) * bytes, zeros_.data() + channel * bytes,
                bytes);
  }
}

}  // namespace torchfeed
