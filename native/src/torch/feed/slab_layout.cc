// SPDX-License-Identifier: Apache-2.0
#include "torch/feed/slab_layout.h"

#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/SmallVector.h>

#include <string>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr int64_t kAlignment = 64;

/// The end of `rows` rows that start at `offset`, rounded up to the alignment.
int64_t end_of(int64_t offset, int64_t row_bytes, int64_t rows) {
  int64_t end = 0;
  if (__builtin_mul_overflow(row_bytes, rows, &end) || __builtin_add_overflow(offset, end, &end) ||
      __builtin_add_overflow(end, kAlignment - 1, &end)) {
    throw Error(ErrorCode::kOutOfMemory,
                "a batch of " + std::to_string(rows) + " rows exceeds any memory");
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
    row_bytes_ += row.bytes;  // at most bytes_, which did not overflow
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
  const caffe2::TypeMeta dtype =
      c10::scalarTypeToTypeMeta(static_cast<at::ScalarType>(viewed.row.dtype));
  // Same as set_, but without the dispatcher, which takes several µs per tensor when its code is
  // in no cache.
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(block.storage()), c10::DispatchKeySet(c10::DispatchKey::CPU), dtype);
  c10::SmallVector<int64_t, 5> sizes{rows};
  sizes.append(viewed.row.sizes.begin(), viewed.row.sizes.end());
  c10::TensorImpl& impl = *view.unsafeGetTensorImpl();
  impl.set_sizes_contiguous(sizes);
  impl.set_storage_offset(viewed.offset / static_cast<int64_t>(dtype.itemsize()));
  return view;
}

}  // namespace torchfeed
