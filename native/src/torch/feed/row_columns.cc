// SPDX-License-Identifier: Apache-2.0
#include "torch/feed/row_columns.h"

#include <string>

#include "core/rows/row_gather.h"
#include "torch/feed/row_shape.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

/// Rows in memory.
class TensorRows : public RowColumn {
 public:
  /// @param tensor  dense, with at least one dimension
  explicit TensorRows(at::Tensor tensor)
      : RowColumn(tensor.size(0), row_shape(tensor.scalar_type(), tensor.sizes().slice(1).vec())),
        tensor_(std::move(tensor)) {}

  bool gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop,
              Stores stores) const override {
    return gather_rows(target, static_cast<const std::byte*>(tensor_.const_data_ptr()),
                       static_cast<size_t>(row().bytes), wanted, stop, stores);
  }

  [[nodiscard]] const std::byte* resident() const override {
    return static_cast<const std::byte*>(tensor_.const_data_ptr());
  }

 private:
  const at::Tensor tensor_;
};

bool is_dense(const at::Tensor& column) {
  return column.defined() && column.layout() == at::kStrided && column.dim() >= 1 &&
         column.device().is_cpu() && column.is_contiguous() && !column.is_conj() &&
         !column.is_neg();
}

}  // namespace

SharedColumn column_of_tensor(const at::Tensor& column) {
  return std::make_shared<const TensorRows>(column);
}

SharedTable table_of_tensors(const std::vector<at::Tensor>& columns) {
  std::vector<SharedColumn> rows;
  for (const at::Tensor& column : columns) {
    if (!is_dense(column)) {
      throw Error(ErrorCode::kInvalidArgument,
                  "column " + std::to_string(rows.size()) + " must be a contiguous CPU tensor");
    }
    rows.push_back(column_of_tensor(column));
  }
  return table_of(std::move(rows));
}

}  // namespace torchfeed
