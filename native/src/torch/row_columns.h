// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/file_column.h"
#include "core/row_gather.h"
#include "torch/file_columns_impl.h"
#include "torch/slab_layout.h"

namespace torchfeed {

using Rows = std::vector<size_t>;

/// The source of the rows of one column. Thread-safe.
struct RowColumn {
  at::Tensor tensor;                        // rows in memory, or undefined
  std::shared_ptr<const FileColumn> files;  // rows in files, or null
  int64_t rows;
  RowShape row;

  /// Copies the wanted rows to `target`, dense; returns false if `stop` ended it early.
  bool gather(std::byte* target, const Rows& wanted, const std::atomic<bool>& stop,
              Stores stores) const;
};

using RowColumns = std::vector<RowColumn>;

/// Requires dense CPU tensors with the same number of rows.
RowColumns columns_of(const std::vector<at::Tensor>& columns);
/// Requires columns with the same number of rows.
RowColumns columns_of(const std::vector<TypedFiles>& columns);
/// Returns the slab layout for batches of at most `batch_rows` rows of the columns.
SlabLayout layout_of(const RowColumns& columns, int64_t batch_rows);

}  // namespace torchfeed
