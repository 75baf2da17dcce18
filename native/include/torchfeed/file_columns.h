// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "torchfeed/export.h"

namespace torchfeed {

/// Columns of fixed-size rows in files: the source of a `RowSet`. The files stay open until this
/// object, the sets made of it and their feeds are destroyed. One thread at a time.
class TORCHFEED_API FileColumns {
 public:
  [[nodiscard]] static std::unique_ptr<FileColumns> create();
  FileColumns(const FileColumns&) = delete;
  FileColumns& operator=(const FileColumns&) = delete;
  ~FileColumns();

  /// Adds a column whose rows have the sizes `row_sizes[0..dims)`.
  ///
  /// @param dtype       the `c10::ScalarType` as a number
  /// @param swap_bytes  length of the units whose bytes are reversed: 1 (none), 2, 4 or 8
  void add_column(int64_t dtype, const int64_t* row_sizes, int64_t dims, int64_t swap_bytes);
  /// Opens a file and appends its rows to the column added last: `rows` rows, row `i` at
  /// `offset_bytes + i * stride_bytes`.
  void add_file(const std::string& path, int64_t offset_bytes, int64_t stride_bytes, int64_t rows);

 private:
  friend class RowSet;  // keeps reading the files after this object is destroyed
  class Impl;
  explicit FileColumns(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
