// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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
  /// @param device  what the memory is page-locked for; empty for ordinary memory
  SlabPool(SlabLayout layout, std::string device)
      : layout_(std::make_shared<const SlabLayout>(std::move(layout))),
        device_(std::move(device)) {}

  [[nodiscard]] const SlabLayout& layout() const { return *layout_; }
  /// A block that nobody else refers to.
  [[nodiscard]] std::unique_ptr<SlabBlock> acquire();
  /// Takes a block back; one that a tensor outside still views is left to that tensor.
  void give_back(std::unique_ptr<SlabBlock> block);

 private:
  const std::shared_ptr<const SlabLayout> layout_;
  const std::string device_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SlabBlock>> free_;
};

}  // namespace torchfeed
