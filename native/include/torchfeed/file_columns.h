// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "torchfeed/export.h"

namespace torchfeed {

/// Columns of fixed-size rows in files, for a `BatchFeed` to read. The files stay open until this
/// object, its shares and their feeds are gone. Not thread-safe while columns and files are added.
class TORCHFEED_API FileColumns {
 public:
  [[nodiscard]] static std::unique_ptr<FileColumns> create();
  FileColumns(const FileColumns&) = delete;
  FileColumns& operator=(const FileColumns&) = delete;
  ~FileColumns();

  /// Begins a column whose rows have the sizes `row_sizes[0..dims)`.
  ///
  /// @param dtype       number of the `c10::ScalarType`
  /// @param swap_bytes  length of the units whose bytes are reversed: 1 (none), 2, 4 or 8
  void add_column(int64_t dtype, const int64_t* row_sizes, int64_t dims, int64_t swap_bytes);
  /// Opens a file of the column begun last, whose rows follow those of the file before it: `rows`
  /// rows, row `i` at `offset_bytes + i * stride_bytes`.
  void add_file(const std::string& path, int64_t offset_bytes, int64_t stride_bytes, int64_t rows);
  /// The same columns and open files, with a life of their own.
  [[nodiscard]] std::unique_ptr<FileColumns> share() const;

 private:
  friend class BatchFeed;  // reads the files beyond the life of this object
  class Impl;
  explicit FileColumns(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
