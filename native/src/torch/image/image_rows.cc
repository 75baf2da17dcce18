// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/image_rows.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/image/recipe/image_recipe.h"
#include "core/image/recipe/plan_cache.h"
#include "core/image/store/image_file.h"
#include "core/stream_copy.h"
#include "torch/base/guard.h"

namespace torchfeed {
namespace {

/// A column of this size has left the caches before its batch is read.
constexpr int64_t kLeastStreamed = int64_t{8} << 20;

/// A thread keeps the memory of a file of at most this size for the next one.
constexpr std::size_t kMaxKept = std::size_t{4} << 20;

const ImageRecipe& recipe_of(const double* steps, int64_t numbers) {
  thread_local PlanCache plans;
  return plans.recipe({steps, static_cast<std::size_t>(numbers)});
}

void write_row(const ImageRecipe& recipe, std::span<const uint8_t> encoded, SampleWords words,
               Slab& slab, int64_t column, int64_t row) {
  const int64_t row_bytes = recipe.row_bytes();
  if (row < 0 || row >= slab.column_bytes(column) / row_bytes) {
    throw Error(ErrorCode::kInvalidArgument, "a slab's column must hold row " +
                                                 std::to_string(row) + " of " +
                                                 std::to_string(row_bytes) + " bytes");
  }
  uint8_t* const target = slab.data() + slab.column_offset(column) + row * row_bytes;
  const Stores stores =
      slab.column_bytes(column) < kLeastStreamed ? Stores::kCached : Stores::kStreamed;
  const Streaming streaming(stores);
  make_row(recipe, encoded, words, reinterpret_cast<std::byte*>(target), stores);
}

}  // namespace

void write_image_row(const double* steps, int64_t numbers, const uint8_t* encoded, int64_t bytes,
                     int64_t seed, int64_t epoch, int64_t index, Slab& slab, int64_t column,
                     int64_t row) {
  guarded([&] {
    write_row(recipe_of(steps, numbers), {encoded, static_cast<std::size_t>(bytes)},
              {seed, epoch, index}, slab, column, row);
  });
}

void write_image_file_row(const double* steps, int64_t numbers, const uint8_t* path,
                          int64_t path_bytes, int64_t seed, int64_t epoch, int64_t index,
                          Slab& slab, int64_t column, int64_t row) {
  guarded([&] {
    thread_local std::vector<uint8_t> content;
    if (content.capacity() > kMaxKept) {
      content = {};
    }
    read_image_file(std::string(path, path + path_bytes), content);
    write_row(recipe_of(steps, numbers), content, {seed, epoch, index}, slab, column, row);
  });
}

}  // namespace torchfeed
