// SPDX-License-Identifier: Apache-2.0
#include "torch/slab_block.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "torch/pinned_memory.h"

namespace torchfeed {

SlabBlock::SlabBlock(std::shared_ptr<const SlabLayout> layout, const std::string& device)
    : layout_(std::move(layout)),
      block_(device.empty() ? at::empty({layout_->bytes()}, at::kByte)
                            : pinned_block(layout_->bytes(), device)) {
  // Whoever writes the block knows its address: no operation on a view may move the memory.
  block_.storage().unsafeGetStorageImpl()->set_resizable(false);
}

bool SlabBlock::is_free() const {
  if (block_.storage().use_count() != 1) {
    return false;
  }
  // The count is read relaxed. Locking a weak reference acquires what the last viewer released, so
  // its reads happen before the next writes; TSan does not know a fence.
  static_cast<void>(block_.storage().getWeakStorageImpl().lock());
  return true;
}

}  // namespace torchfeed
