// SPDX-License-Identifier: Apache-2.0
#include "torch/feed/slab_pool.h"

#include <algorithm>
#include <new>

namespace torchfeed {
namespace {

/// Beyond this many, blocks are held by kept batches rather than by late copies.
constexpr std::size_t kMaxRead = 8;

}  // namespace

void SlabPool::pin_for(const std::string& device, bool once) {
  device_ = device;
  once_ = once;
}

std::unique_ptr<SlabBlock> SlabPool::acquire() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto over = std::find_if(read_.begin(), read_.end(),
                                   [](const auto& block) { return block->is_free(); });
    if (over != read_.end()) {
      free_.push_back(std::move(*over));
      read_.erase(over);
    }
    if (!free_.empty()) {
      auto block = std::move(free_.back());
      free_.pop_back();
      return block;
    }
  }
  auto block = std::make_unique<SlabBlock>(layout_, device_);
  fresh_.fetch_add(once_ ? 0 : 1, std::memory_order_relaxed);
  return block;
}

void SlabPool::give_back(std::unique_ptr<SlabBlock> block) noexcept {
  if (!block || once_) {
    return;
  }
  const bool unused = block->is_free();
  const std::lock_guard<std::mutex> lock(mutex_);
  try {
    if (unused) {
      free_.push_back(std::move(block));
    } else if (!device_.empty()) {
      read_.push_back(std::move(block));
      if (read_.size() > kMaxRead) {
        read_.pop_front();
      }
    }
  } catch (const std::bad_alloc&) {  // no memory to keep track of it: it is freed instead
  }
}

}  // namespace torchfeed
