// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/rows/row_column.h"

namespace torchfeed {

/// The layout of a batch in a block of memory: dense rows, column by column, each column aligned to
/// 64 bytes. Immutable.
class SlabLayout {
 public:
  /// @param columns  at least one
  /// @param rows     maximum number of rows in a batch, at least 1
  SlabLayout(std::vector<RowShape> columns, int64_t rows);

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t columns() const { return static_cast<int64_t>(columns_.size()); }
  /// Returns the size of the block in bytes.
  [[nodiscard]] int64_t bytes() const { return bytes_; }
  [[nodiscard]] const RowShape& row(int64_t column) const { return at(column).row; }
  [[nodiscard]] int64_t row_bytes(int64_t column) const { return row(column).bytes; }
  /// Returns the size in bytes of a row across all columns.
  [[nodiscard]] int64_t row_bytes() const { return row_bytes_; }
  /// Returns the offset of a column in the block, in bytes.
  [[nodiscard]] int64_t offset(int64_t column) const { return at(column).offset; }
  /// Returns the first rows of a column as a tensor `[rows, ...]` that shares the block's memory.
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
