// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/file_columns.h"

#include <c10/core/ScalarType.h>

#include <string>
#include <utility>
#include <vector>

#include "torch/file_columns_impl.h"
#include "torch/guard.h"

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

int64_t row_bytes_of(at::ScalarType dtype, const std::vector<int64_t>& row_sizes) {
  auto bytes = static_cast<int64_t>(at::elementSize(dtype));
  for (const int64_t size : row_sizes) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
      throw Error(
          ErrorCode::kInvalidArgument,
          "sizes of a row must be at least 0 and fit into memory, got " + std::to_string(size));
    }
  }
  return bytes;
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
    const at::ScalarType type = checked_dtype(dtype);
    std::vector<int64_t> sizes(row_sizes, row_sizes + dims);
    auto files = std::make_shared<FileColumn>(row_bytes_of(type, sizes), swap_bytes);
    impl_->columns.push_back({type, std::move(sizes), std::move(files)});
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

std::unique_ptr<FileColumns> FileColumns::share() const {
  return guarded([&] {
    auto copy = std::make_unique<Impl>();
    copy->columns = impl_->columns;
    return std::unique_ptr<FileColumns>(new FileColumns(std::move(copy)));
  });
}

}  // namespace torchfeed
