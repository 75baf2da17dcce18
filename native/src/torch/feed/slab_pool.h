// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "torch/feed/slab_block.h"

namespace torchfeed {

/// A pool of reusable blocks of one layout. Thread-safe.
class SlabPool {
 public:
  explicit SlabPool(SlabLayout layout)
      : layout_(std::make_shared<const SlabLayout>(std::move(layout))) {}

  [[nodiscard]] const SlabLayout& layout() const { return *layout_; }
  /// Allocates all blocks in memory that is page-locked for a device. With `once`, a block is never
  /// reused but freed, since only libtorch's allocator knows of copies that the consumer started.
  /// Must be called before the first `acquire`.
  void pin_for(const std::string& device, bool once);
  /// Returns a block that nothing else refers to.
  [[nodiscard]] std::unique_ptr<SlabBlock> acquire();
  /// Returns the number of blocks allocated since the last call, except for those used once.
  [[nodiscard]] int64_t fresh() { return fresh_.exchange(0, std::memory_order_relaxed); }
  /// Returns a block to the pool. A block that a tensor still views is abandoned to that tensor,
  /// unless it is page-locked: then a copy is reading it, and it is reused afterwards.
  void give_back(std::unique_ptr<SlabBlock> block) noexcept;

 private:
  const std::shared_ptr<const SlabLayout> layout_;
  std::string device_;  // empty for ordinary memory
  bool once_ = false;
  std::atomic<int64_t> fresh_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<SlabBlock>> free_;
  std::deque<std::unique_ptr<SlabBlock>> read_;  // blocks that copies still read
};

}  // namespace torchfeed
