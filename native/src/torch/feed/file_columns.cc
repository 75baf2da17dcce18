// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/file_columns.h"

#include <c10/core/ScalarType.h>

#include <string>
#include <utility>

#include "torch/base/guard.h"
#include "torch/feed/file_columns_impl.h"
#include "torch/feed/row_shape.h"

namespace torchfeed {
namespace {

at::ScalarType checked_dtype(int64_t dtype) {
  if (dtype >= 0 && dtype < static_cast<int64_t>(at::ScalarType::NumOptions)) {
    const auto type = static_cast<at::ScalarType>(dtype);
    if (type != at::ScalarType::Undefined && !at::isQIntType(type) && !at::isBitsType(type)) {
      return type;
    }
  }
  throw Error(ErrorCode::kInvalidArgument,
              "dtype must be one of a dense tensor, got number " + std::to_string(dtype));
}

}  // namespace

FileColumns::FileColumns(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

FileColumns::~FileColumns() = default;

std::unique_ptr<FileColumns> FileColumns::create() {
  return guarded(
      [&] { return std::unique_ptr<FileColumns>(new FileColumns(std::make_unique<Impl>())); });
}

void FileColumns::add_column(int64_t dtype, const int64_t* row_sizes, int64_t dims,
                             int64_t swap_bytes) {
  guarded([&] {
    RowShape row = row_shape(checked_dtype(dtype), {row_sizes, row_sizes + dims});
    auto files = std::make_shared<FileColumn>(row.bytes, swap_bytes);
    impl_->columns.push_back({std::move(row), std::move(files)});
  });
}

void FileColumns::add_file(const std::string& path, int64_t offset_bytes, int64_t stride_bytes,
                           int64_t rows) {
  guarded([&] {
    if (impl_->columns.empty()) {
      throw Error(ErrorCode::kIllegalState, "a file needs a column: call add_column first");
    }
    impl_->columns.back().files->add_file(path, offset_bytes, stride_bytes, rows);
  });
}

}  // namespace torchfeed
