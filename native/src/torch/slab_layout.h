// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace torchfeed {

/// What one row of a column looks like.
struct RowShape {
  at::TensorOptions options;
  std::vector<int64_t> sizes;
  int64_t bytes;
};

/// Where the columns of a batch lie in a block of memory: dense rows, column by column, each column
/// at a multiple of 64 bytes. Immutable.
class SlabLayout {
 public:
  /// @param columns  at least one
  /// @param rows     most rows of a batch, at least 1
  SlabLayout(std::vector<RowShape> columns, int64_t rows);

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t columns() const { return static_cast<int64_t>(columns_.size()); }
  /// Size of the block.
  [[nodiscard]] int64_t bytes() const { return bytes_; }
  [[nodiscard]] int64_t row_bytes(int64_t column) const { return at(column).row.bytes; }
  /// Of a row of all columns.
  [[nodiscard]] int64_t row_bytes() const { return row_bytes_; }
  /// Where a column begins in the block, in bytes.
  [[nodiscard]] int64_t offset(int64_t column) const { return at(column).offset; }
  /// The first rows of a column as a tensor `[rows, ...]` that shares the memory of `block`.
  [[nodiscard]] at::Tensor view(const at::Tensor& block, int64_t column, int64_t rows) const;

 private:
  struct Placed {
    RowShape row;
    int64_t offset;
  };

  [[nodiscard]] const Placed& at(int64_t column) const;

  int64_t rows_;
  int64_t bytes_ = 0;
  int64_t row_bytes_ = 0;
  std::vector<Placed> columns_;
};

}  // namespace torchfeed
