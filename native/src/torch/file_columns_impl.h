// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/file_column.h"
#include "torch/live_count.h"
#include "torchfeed/file_columns.h"

namespace torchfeed {

/// Files, and the dtype and shape of their rows.
struct TypedFiles {
  at::ScalarType dtype;
  std::vector<int64_t> row_sizes;
  std::shared_ptr<FileColumn> files;
};

/// The columns behind the facade; feeds share their files.
class FileColumns::Impl {
 public:
  std::vector<TypedFiles> columns;

 private:
  LiveCount live_;
};

}  // namespace torchfeed
