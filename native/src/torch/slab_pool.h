// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "torch/slab_block.h"

namespace torchfeed {

/// Reusable blocks of one layout. Thread-safe.
class SlabPool {
 public:
  explicit SlabPool(SlabLayout layout)
      : layout_(std::make_shared<const SlabLayout>(std::move(layout))) {}

  [[nodiscard]] const SlabLayout& layout() const { return *layout_; }
  /// Makes the blocks of memory that is page-locked for a device. Before the first `acquire`.
  void pin_for(const std::string& device);
  /// A block that nobody else refers to.
  [[nodiscard]] std::unique_ptr<SlabBlock> acquire();
  /// Takes a block back; one that a tensor outside still views is left to that tensor, unless it is
  /// page-locked: then a copy reads it, and it is used again after that.
  void give_back(std::unique_ptr<SlabBlock> block);

 private:
  const std::shared_ptr<const SlabLayout> layout_;
  std::string device_;  // empty for ordinary memory
  std::mutex mutex_;
  std::vector<std::unique_ptr<SlabBlock>> free_;
  std::deque<std::unique_ptr<SlabBlock>> read_;  // by copies
};

}  // namespace torchfeed
