// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/rows/file_column.h"
#include "core/rows/row_column.h"
#include "torch/base/live_count.h"
#include "torchfeed/file_columns.h"

namespace torchfeed {

/// Files, and the dtype and shape of their rows.
struct TypedFiles {
  RowShape row;
  std::shared_ptr<FileColumn> files;
};

/// The columns behind the facade; row sets share their files.
class FileColumns::Impl {
 public:
  std::vector<TypedFiles> columns;

 private:
  LiveCount live_;
};

}  // namespace torchfeed
