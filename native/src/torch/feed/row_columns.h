// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/rows/file_column.h"
#include "core/rows/row_table.h"

namespace torchfeed {

/// Returns dense CPU tensors with the same number of rows as a table, which keeps them alive.
SharedTable table_of_tensors(const std::vector<at::Tensor>& columns);

/// Returns a dense CPU tensor as a column, which keeps it alive.
SharedColumn column_of_tensor(const at::Tensor& column);

/// Rows in files, as a column that keeps the files open.
class FileRows : public RowColumn {
 public:
  FileRows(RowShape row, std::shared_ptr<const FileColumn> files)
      : RowColumn(files->rows(), std::move(row)), files_(std::move(files)) {}

  bool gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop,
              Stores /*stores*/) const override {
    return files_->gather(target, wanted, stop);
  }

 private:
  const std::shared_ptr<const FileColumn> files_;
};

}  // namespace torchfeed
