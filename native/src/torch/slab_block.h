// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torch/slab_layout.h"

namespace torchfeed {

/// Memory for one batch, and how the batch lies in it. One thread at a time.
class SlabBlock {
 public:
  /// Takes new memory, whose content is undefined.
  /// @param device  what the memory is page-locked for; empty for ordinary memory
  SlabBlock(std::shared_ptr<const SlabLayout> layout, const std::string& device);

  [[nodiscard]] const SlabLayout& layout() const { return *layout_; }
  [[nodiscard]] std::byte* data() { return static_cast<std::byte*>(block_.mutable_data_ptr()); }
  /// The first rows of a column as a tensor, which keeps the memory alive.
  [[nodiscard]] at::Tensor view(int64_t column, int64_t rows) const {
    return layout_->view(block_, column, rows);
  }
  /// The first rows of all columns, in place of what `views` holds: there are as many each time, so
  /// the tensors of a vector that is used again stay where they are.
  void view_all(int64_t rows, std::vector<at::Tensor>& views) const;
  /// Whether no tensor views the memory any more; what the last of them read is read then.
  [[nodiscard]] bool is_free() const;

 private:
  std::shared_ptr<const SlabLayout> layout_;
  at::Tensor block_;
};

}  // namespace torchfeed
