// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/image_column.h"

#include <cstdint>
#include <utility>

#include "core/image/store/image_file.h"
#include "core/stream_copy.h"

namespace torchfeed {
ImageColumn::ImageColumn(std::vector<std::string> paths, const ImageRecipe& recipe, RowShape row)
    : RowColumn(static_cast<int64_t>(paths.size()), std::move(row)),
      paths_(std::move(paths)),
      recipe_(recipe) {}

bool ImageColumn::gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop,
                         Stores stores) const {
  const Streaming streaming(stores);
  std::vector<uint8_t> encoded;
  for (std::size_t i = 0; i < wanted.rows.size(); ++i) {
    if (stop.load(std::memory_order_relaxed)) {
      return false;
    }
    const std::string& path = paths_[wanted.rows[i]];
    try {
      read_image_file(path, encoded);
      SampleWords words(wanted.key.seed, wanted.key.epoch,
                        static_cast<int64_t>(wanted.indices()[i]));
      make_row(recipe_, encoded, words,
               target + static_cast<int64_t>(wanted.place(i)) * row().bytes, stores);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnreadable) {
        throw;
      }
      throw UnreadableRow(wanted.place(i),
                          path + " cannot be read as an image: " + error.message());
    }
  }
  return true;
}

}  // namespace torchfeed
