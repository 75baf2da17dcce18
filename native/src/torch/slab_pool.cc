// SPDX-License-Identifier: Apache-2.0
#include "torch/slab_pool.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "torch/pinned_memory.h"

namespace torchfeed {
namespace {

/// More are not copies that are late, but batches that somebody keeps.
constexpr size_t kMostRead = 8;

bool is_unused(const at::Tensor& slab) {
  if (slab.storage().use_count() != 1) {
    return false;
  }
  // The count is read relaxed. Locking a weak reference acquires what the last viewer released, so
  // its reads happen before the next gather's writes; TSan does not know a fence.
  static_cast<void>(slab.storage().getWeakStorageImpl().lock());
  return true;
}

}  // namespace

void SlabPool::pin_for(const std::string& device) { device_ = device; }

at::Tensor SlabPool::acquire() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto over = std::find_if(read_.begin(), read_.end(), is_unused);
    if (over != read_.end()) {
      free_.push_back(std::move(*over));
      read_.erase(over);
    }
    if (!free_.empty()) {
      at::Tensor slab = std::move(free_.back());
      free_.pop_back();
      return slab;
    }
  }
  at::Tensor slab =
      device_.empty() ? at::empty({slab_bytes_}, at::kByte) : pinned_block(slab_bytes_, device_);
  // A view that is made larger or smaller must not change the memory under the next batch.
  slab.storage().unsafeGetStorageImpl()->set_resizable(false);
  return slab;
}

void SlabPool::give_back(at::Tensor slab) {
  if (!slab.defined()) {
    return;
  }
  const bool unused = is_unused(slab);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (unused) {
    free_.push_back(std::move(slab));
  } else if (!device_.empty()) {
    read_.push_back(std::move(slab));
    if (read_.size() > kMostRead) {
      read_.pop_front();
    }
  }
}

}  // namespace torchfeed
