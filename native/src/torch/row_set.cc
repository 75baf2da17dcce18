// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/row_set.h"

#include <ATen/Functions.h>

#include <string>
#include <utility>

#include "core/image/image_column.h"
#include "torch/file_columns_impl.h"
#include "torch/guard.h"
#include "torch/image_files_impl.h"
#include "torch/live_count.h"
#include "torch/row_columns.h"
#include "torch/row_shape.h"
#include "torch/row_tables.h"
#include "torchfeed/error.h"

namespace torchfeed {

class RowSet::Impl {
 public:
  explicit Impl(SharedTable all) : table(std::move(all)) {}

  const SharedTable table;

 private:
  const LiveCount live_;
};

std::unique_ptr<RowSet> RowTables::set_of(SharedTable table) {
  return std::unique_ptr<RowSet>(new RowSet(std::make_unique<RowSet::Impl>(std::move(table))));
}

const SharedTable& RowTables::of(const RowSet& set) { return set.impl_->table; }

void check_rows(const int64_t* indices, int64_t count, int64_t rows_of_set, Rows& rows) {
  rows.resize(static_cast<size_t>(count));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= rows_of_set) {
      throw Error(ErrorCode::kInvalidArgument, "indices must be in [0, " +
                                                   std::to_string(rows_of_set) + "), got " +
                                                   std::to_string(indices[i]));
    }
    rows[i] = static_cast<size_t>(indices[i]);
  }
}

RowSet::RowSet(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RowSet::~RowSet() = default;

std::unique_ptr<RowSet> RowSet::of_tensors(const std::vector<at::Tensor>& columns) {
  return guarded([&] { return RowTables::set_of(table_of_tensors(columns)); });
}

std::unique_ptr<RowSet> RowSet::of_files(const FileColumns& columns) {
  return guarded([&] {
    std::vector<SharedColumn> files;
    for (const TypedFiles& column : columns.impl_->columns) {
      files.push_back(std::make_shared<const FileRows>(column.row, column.files));
    }
    return RowTables::set_of(table_of(std::move(files)));
  });
}

std::unique_ptr<RowSet> RowSet::of_images(const ImageFiles& files) {
  return guarded([&] {
    const ImageRecipe& recipe = files.impl_->recipe;
    const auto dtype = recipe.normalisation ? at::ScalarType::Float : at::ScalarType::Byte;
    auto pictures = std::make_shared<const ImageColumn>(
        files.impl_->paths, recipe, row_shape(dtype, {3, recipe.height, recipe.width}));
    return RowTables::set_of(
        table_of({std::move(pictures), column_of_tensor(at::tensor(files.impl_->labels))}));
  });
}

std::unique_ptr<RowSet> RowSet::subset(const int64_t* indices, int64_t count) const {
  return guarded([&] {
    Rows rows;
    check_rows(indices, count, this->rows(), rows);
    return RowTables::set_of(subset_of(impl_->table, std::move(rows)));
  });
}

std::unique_ptr<RowSet> RowSet::concat(const RowSet& next) const {
  return guarded([&] {
    const SharedTable& second = next.impl_->table;
    if (impl_->table->columns() != second->columns()) {
      throw Error(ErrorCode::kInvalidArgument, "all datasets must have the columns of the first, " +
                                                   described(impl_->table->columns()) + ", got " +
                                                   described(second->columns()));
    }
    return RowTables::set_of(concatenation_of(impl_->table, second));
  });
}

std::unique_ptr<RowSet> RowSet::share() const {
  return guarded([&] { return RowTables::set_of(impl_->table); });
}

int64_t RowSet::rows() const { return impl_->table->rows(); }

}  // namespace torchfeed
