// SPDX-License-Identifier: Apache-2.0
#include "torch/row_columns.h"

#include <string>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

void check_some(size_t columns) {
  if (columns == 0) {
    throw Error(ErrorCode::kInvalidArgument, "a feed needs at least one column");
  }
}

}  // namespace

bool RowColumn::gather(std::byte* target, const Rows& wanted, const std::atomic<bool>& stop,
                       Stores stores) const {
  return files ? files->gather(target, wanted, stop)
               : gather_rows(target, static_cast<const std::byte*>(tensor.const_data_ptr()),
                             static_cast<size_t>(row.bytes), wanted, stop, stores);
}

RowColumns columns_of(const std::vector<at::Tensor>& columns) {
  check_some(columns.size());
  RowColumns checked;
  for (size_t i = 0; i < columns.size(); ++i) {
    const at::Tensor& column = columns[i];
    const bool dense = column.defined() && column.layout() == at::kStrided && column.dim() >= 1 &&
                       column.device().is_cpu() && column.is_contiguous() && !column.is_conj() &&
                       !column.is_neg();
    if (!dense || column.size(0) != columns[0].size(0)) {
      throw Error(ErrorCode::kInvalidArgument,
                  "column " + std::to_string(i) +
                      " must be a contiguous CPU tensor with as many rows as column 0");
    }
    const int64_t rows = column.size(0);
    const int64_t row_bytes = rows == 0 ? 0 : static_cast<int64_t>(column.nbytes()) / rows;
    checked.push_back(
        {column, nullptr, rows, {column.options(), column.sizes().slice(1).vec(), row_bytes}});
  }
  return checked;
}

RowColumns columns_of(const std::vector<TypedFiles>& columns) {
  check_some(columns.size());
  RowColumns checked;
  for (const TypedFiles& column : columns) {
    const int64_t rows = column.files->rows();
    if (rows != columns[0].files->rows()) {
      throw Error(ErrorCode::kInvalidArgument, "column " + std::to_string(checked.size()) +
                                                   " must have as many rows as column 0 (" +
                                                   std::to_string(columns[0].files->rows()) +
                                                   "), got " + std::to_string(rows));
    }
    const RowShape row{at::TensorOptions().dtype(column.dtype), column.row_sizes,
                       column.files->row_bytes()};
    checked.push_back({at::Tensor(), column.files, rows, row});
  }
  return checked;
}

SlabLayout layout_of(const RowColumns& columns, int64_t batch_rows) {
  std::vector<RowShape> rows;
  for (const RowColumn& column : columns) {
    rows.push_back(column.row);
  }
  return {std::move(rows), batch_rows};
}

}  // namespace torchfeed
