// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "torch/feed/slab_layout.h"

namespace torchfeed {

/// Memory for one batch, and the layout of the batch in it. One thread at a time.
class SlabBlock {
 public:
  /// Allocates memory, whose content is undefined.
  /// @param device  the device that the memory is page-locked for; empty for ordinary memory
  SlabBlock(std::shared_ptr<const SlabLayout> layout, const std::string& device);

  [[nodiscard]] const SlabLayout& layout() const { return *layout_; }
  [[nodiscard]] std::byte* data() { return static_cast<std::byte*>(block_.mutable_data_ptr()); }
  /// Returns the address of the first row of each column.
  [[nodiscard]] std::span<std::byte* const> targets() const { return targets_; }
  /// Returns the first rows of a column as a tensor, which keeps the memory alive.
  [[nodiscard]] at::Tensor view(int64_t column, int64_t rows) const {
    return layout_->view(block_, column, rows);
  }
  /// Replaces the contents of `views` with the first rows of all columns. Their number is constant,
  /// so in a reused vector the tensor objects stay at the same addresses.
  void view_all(int64_t rows, std::vector<at::Tensor>& views) const;
  /// Returns whether no tensor views the memory any more; the reads of the last one happened
  /// before.
  [[nodiscard]] bool is_free() const;

 private:
  std::shared_ptr<const SlabLayout> layout_;
  at::Tensor block_;
  std::vector<std::byte*> targets_;
};

}  // namespace torchfeed
