// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/image_rows.h"

#include <cstddef>
#include <span>
#include <string>

#include "core/image/image_recipe.h"
#include "core/image/plan_cache.h"
#include "core/stream_copy.h"
#include "torch/guard.h"

namespace torchfeed {
namespace {

/// A column of this size has left the caches before its batch is read.
constexpr int64_t kLeastStreamed = int64_t{8} << 20;

}  // namespace

void write_image_row(const double* steps, int64_t numbers, const uint8_t* encoded, int64_t bytes,
                     int64_t seed, int64_t epoch, int64_t index, Slab& slab, int64_t column,
                     int64_t row) {
  guarded([&] {
    thread_local PlanCache plans;
    const ImageRecipe& recipe = plans.recipe({steps, static_cast<std::size_t>(numbers)});
    const int64_t row_bytes = recipe.row_bytes();
    if (row < 0 || row >= slab.column_bytes(column) / row_bytes) {
      throw Error(ErrorCode::kInvalidArgument, "a slab's column must hold row " +
                                                   std::to_string(row) + " of " +
                                                   std::to_string(row_bytes) + " bytes");
    }
    uint8_t* const target = slab.data() + slab.column_offset(column) + row * row_bytes;
    SampleWords words(seed, epoch, index);
    const Stores stores =
        slab.column_bytes(column) < kLeastStreamed ? Stores::kCached : Stores::kStreamed;
    const Streaming streaming(stores);
    make_row(recipe, {encoded, static_cast<std::size_t>(bytes)}, words,
             reinterpret_cast<std::byte*>(target), stores);
  });
}

}  // namespace torchfeed
