// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/export.h"

namespace torchfeed {

/// One reusable block of host memory that holds a batch: dense rows, column by column, each column
/// at a multiple of 64 bytes. One thread at a time.
class TORCHFEED_API Slab {
 public:
  /// @param prototypes  what each column looks like: a CPU tensor `[0, shape of a row...]`
  /// @param rows        most rows of a batch, at least 1
  [[nodiscard]] static std::unique_ptr<Slab> create(const std::vector<at::Tensor>& prototypes,
                                                    int64_t rows);
  /// A slab of memory that is page-locked for the type of `device`, for example `cuda:0`.
  [[nodiscard]] static std::unique_ptr<Slab> create_pinned(
      const std::vector<at::Tensor>& prototypes, int64_t rows, const std::string& device);
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab();

  /// Size of the block in bytes.
  [[nodiscard]] int64_t bytes() const;
  /// Where a column begins, and how long it is with all rows, in bytes.
  [[nodiscard]] int64_t column_offset(int64_t column) const;
  [[nodiscard]] int64_t column_bytes(int64_t column) const;
  /// The block; written by whoever holds the slab while `is_free`.
  [[nodiscard]] uint8_t* data();
  /// The first rows of a column as a tensor `[rows, ...]`, a view that keeps the memory alive.
  [[nodiscard]] at::Tensor view(int64_t column, int64_t rows) const;
  /// The first rows of all columns, in place of what `views` holds: there are as many each time, so
  /// the tensors of a vector that is used again stay where they are.
  void view_all(int64_t rows, std::vector<at::Tensor>& views) const;
  /// Whether no tensor views the slab any more; what the last of them read is read then.
  [[nodiscard]] bool is_free() const;

 private:
  class Impl;
  explicit Slab(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
