// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/row_set.h"

#include <ATen/Functions.h>

#include <string>
#include <utility>

#include "core/image/recipe/image_plan_reader.h"
#include "core/image/store/image_column.h"
#include "core/image/store/record_column.h"
#include "core/rows/recipe_column.h"
#include "core/rows/row_recipe.h"
#include "torch/base/guard.h"
#include "torch/base/live_count.h"
#include "torch/feed/file_columns_impl.h"
#include "torch/feed/row_columns.h"
#include "torch/feed/row_shape.h"
#include "torch/feed/row_tables.h"
#include "torch/image/image_files_impl.h"
#include "torch/image/image_records_impl.h"
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

namespace {

RowShape row_of(const ImageRecipe& recipe) {
  const auto dtype = recipe.normalization ? at::ScalarType::Float : at::ScalarType::Byte;
  return row_shape(dtype, {3, recipe.height, recipe.width});
}

std::unique_ptr<RowSet> set_of_images(SharedColumn images, const std::vector<int64_t>& labels) {
  return RowTables::set_of(table_of({std::move(images), column_of_tensor(at::tensor(labels))}));
}

}  // namespace

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
    return set_of_images(
        std::make_shared<const ImageColumn>(files.impl_->paths, recipe, row_of(recipe)),
        files.impl_->labels);
  });
}

std::unique_ptr<RowSet> RowSet::of_records(const ImageRecords& records, const double* steps,
                                           int64_t numbers) {
  return guarded([&] {
    const std::vector<SharedImages>& files = records.impl_->files;
    const ImageRecipe recipe = read_plan({steps, static_cast<std::size_t>(numbers)});
    return set_of_images(std::make_shared<const RecordColumn>(files, recipe, row_of(recipe)),
                         labels_of(files));
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

std::unique_ptr<RowSet> RowSet::transformed(int64_t column, const double* steps,
                                            int64_t numbers) const {
  return guarded([&] {
    const auto number = static_cast<size_t>(column);
    if (column < 0 || number >= impl_->table->columns().size()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "there is no column " + std::to_string(column) + " to transform");
    }
    const RowRecipe recipe = read_row_plan({steps, static_cast<size_t>(numbers)});
    return RowTables::set_of(impl_->table->mapped(number, [&](const SharedColumn& source) {
      return std::make_shared<const RecipeColumn>(source, recipe);
    }));
  });
}

std::unique_ptr<RowSet> RowSet::share() const {
  return guarded([&] { return RowTables::set_of(impl_->table); });
}

int64_t RowSet::rows() const { return impl_->table->rows(); }

}  // namespace torchfeed
