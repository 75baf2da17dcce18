// SPDX-License-Identifier: Apache-2.0
#include "torch/slab_layout.h"

#include <ATen/ops/empty.h>

#include <string>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr int64_t kAlignment = 64;

/// The end of `rows` rows from `offset` on, made whole lines.
int64_t end_of(int64_t offset, int64_t row_bytes, int64_t rows) {
  int64_t end = 0;
  if (__builtin_mul_overflow(row_bytes, rows, &end) || __builtin_add_overflow(offset, end, &end) ||
      __builtin_add_overflow(end, kAlignment - 1, &end)) {
    throw Error(ErrorCode::kOutOfMemory,
                "a batch of " + std::to_string(rows) + " rows is beyond all memory");
  }
  return end / kAlignment * kAlignment;
}

}  // namespace

SlabLayout::SlabLayout(std::vector<RowShape> columns, int64_t rows) : rows_(rows) {
  if (columns.empty() || rows < 1) {
    throw Error(ErrorCode::kInvalidArgument, "a slab needs at least one column and one row");
  }
  columns_.reserve(columns.size());
  for (RowShape& row : columns) {
    const int64_t offset = bytes_;
    bytes_ = end_of(offset, row.bytes, rows);
    columns_.push_back({std::move(row), offset});
  }
}

const SlabLayout::Placed& SlabLayout::at(int64_t column) const {
  if (column < 0 || column >= columns()) {
    throw Error(ErrorCode::kInvalidArgument, "no column " + std::to_string(column));
  }
  return columns_[static_cast<size_t>(column)];
}

at::Tensor SlabLayout::view(const at::Tensor& block, int64_t column, int64_t rows) const {
  const Placed& viewed = at(column);
  if (rows < 0 || rows > rows_) {
    throw Error(ErrorCode::kInvalidArgument, "a slab holds at most " + std::to_string(rows_) +
                                                 " rows, got " + std::to_string(rows));
  }
  std::vector<int64_t> sizes = {rows};
  sizes.insert(sizes.end(), viewed.row.sizes.begin(), viewed.row.sizes.end());
  at::Tensor view = at::empty({0}, viewed.row.options);
  view.set_(block.storage(), viewed.offset / static_cast<int64_t>(view.element_size()), sizes);
  return view;
}

}  // namespace torchfeed
