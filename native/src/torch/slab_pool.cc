// SPDX-License-Identifier: Apache-2.0
#include "torch/slab_pool.h"

namespace torchfeed {

std::unique_ptr<SlabBlock> SlabPool::acquire() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      auto block = std::move(free_.back());
      free_.pop_back();
      return block;
    }
  }
  return std::make_unique<SlabBlock>(layout_, device_);
}

void SlabPool::give_back(std::unique_ptr<SlabBlock> block) {
  if (block && block->is_free()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(block));
  }
}

}  // namespace torchfeed
