// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/export.h"

namespace torchfeed {

/// A reusable block of host memory that holds a batch: dense rows, column by column, each column
/// aligned to 64 bytes. One thread at a time.
class TORCHFEED_API Slab {
 public:
  /// @param prototypes  dtype and row shape of each column: a CPU tensor `[0, shape of a row...]`
  /// @param rows        maximum number of rows in a batch, at least 1
  [[nodiscard]] static std::unique_ptr<Slab> create(const std::vector<at::Tensor>& prototypes,
                                                    int64_t rows);
  /// Creates a slab whose memory is page-locked for the type of `device`, for example `cuda:0`.
  [[nodiscard]] static std::unique_ptr<Slab> create_pinned(
      const std::vector<at::Tensor>& prototypes, int64_t rows, const std::string& device);
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab();

  /// Returns the size of the block in bytes.
  [[nodiscard]] int64_t bytes() const;
  /// Return the offset of a column, and its length with all rows, in bytes.
  [[nodiscard]] int64_t column_offset(int64_t column) const;
  [[nodiscard]] int64_t column_bytes(int64_t column) const;
  /// Returns the block, which the owner of the slab may write while `is_free`.
  [[nodiscard]] uint8_t* data();
  /// Returns the first rows of a column as a tensor `[rows, ...]`, a view that keeps the memory
  /// alive.
  [[nodiscard]] at::Tensor view(int64_t column, int64_t rows) const;
  /// Replaces the contents of `views` with the first rows of all columns. Their number is constant,
  /// so in a reused vector the tensor objects stay at the same addresses.
  void view_all(int64_t rows, std::vector<at::Tensor>& views) const;
  /// Returns whether no tensor views the slab any more; the reads of the last one happened before.
  [[nodiscard]] bool is_free() const;

 private:
  friend class RowReader;  // writes the block
  class Impl;
  explicit Slab(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
