// SPDX-License-Identifier: Apache-2.0
#include "torch/slab_pool.h"

#include <ATen/ops/empty.h>

#include <utility>

namespace torchfeed {

at::Tensor SlabPool::acquire() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      at::Tensor slab = std::move(free_.back());
      free_.pop_back();
      return slab;
    }
  }
  at::Tensor slab = at::empty({slab_bytes_}, at::kByte);
  // A view that is made larger or smaller must not change the memory under the next batch.
  slab.storage().unsafeGetStorageImpl()->set_resizable(false);
  return slab;
}

void SlabPool::give_back(at::Tensor slab) {
  if (!slab.defined() || slab.storage().use_count() != 1) {
    return;
  }
  // The count is read relaxed. Locking a weak reference acquires what the last viewer released, so
  // its reads happen before the next gather's writes; TSan does not know a fence.
  static_cast<void>(slab.storage().getWeakStorageImpl().lock());
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(slab));
}

}  // namespace torchfeed
