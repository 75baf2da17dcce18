// SPDX-License-Identifier: Apache-2.0
#include "core/rows/transformed_column.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/rows/row_prefetch.h"
#include "core/stream_copy.h"

namespace torchfeed {
namespace {

// Of the source: few enough to stay in the caches until they are transformed.
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;
// Transforms take longer than copies, so that more of a row can arrive meanwhile.
constexpr std::size_t kLinesOfTransformedRow = 16;

}  // namespace

TransformedColumn::TransformedColumn(SharedColumn source, RowShape row)
    : RowColumn(source->rows(), std::move(row)), source_(std::move(source)) {}

bool TransformedColumn::gather(std::byte* target, const WantedRows& wanted,
                               const std::atomic<bool>& stop, Stores stores) const {
  const auto source_bytes = static_cast<std::size_t>(source_->row().bytes);
  const auto target_bytes = static_cast<std::size_t>(row().bytes);
  const Stores used = target_bytes >= kLeastStreamed ? stores : Stores::kCached;
  const Streaming streaming(used);
  const std::byte* const resident = source_->resident();
  const std::size_t all = wanted.rows.size();
  const std::size_t most = std::min(
      all, std::max<std::size_t>(1, kBytesAtOnce / std::max<std::size_t>(1, source_bytes)));
  const auto rows =
      std::make_unique_for_overwrite<std::byte[]>(resident == nullptr ? most * source_bytes : 0);
  for (std::size_t done = 0; done < all; done += most) {
    const std::size_t count = std::min(most, all - done);
    const auto here = wanted.rows.subspan(done, count);
    const auto samples = wanted.indices().subspan(done, count);
    if (resident != nullptr && stop.load(std::memory_order_relaxed)) {
      return false;
    }
    try {
      if (resident == nullptr &&
          !source_->gather(rows.get(), {here, {}, samples, wanted.key}, stop, Stores::kCached)) {
        return false;
      }
    } catch (const UnreadableRow& error) {
      throw error.moved_to(wanted.place(done + error.place()));
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (resident != nullptr && i + kRowsAhead < count) {
        prefetch_row(resident + here[i + kRowsAhead] * source_bytes, source_bytes,
                     kLinesOfTransformedRow);
      }
      const std::byte* const source =
          resident == nullptr ? rows.get() + i * source_bytes : resident + here[i] * source_bytes;
      transform(target + wanted.place(done + i) * target_bytes, source,
                {wanted.key.seed, wanted.key.epoch, static_cast<int64_t>(samples[i])}, used);
    }
  }
  return true;
}

}  // namespace torchfeed
