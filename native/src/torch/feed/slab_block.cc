// SPDX-License-Identifier: Apache-2.0
#include "torch/feed/slab_block.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <utility>

#include "core/page_memory.h"
#include "torch/device/pinned_memory.h"

namespace torchfeed {
namespace {

constexpr int64_t kWorthPages = int64_t{4} << 20;  // two huge pages: at most a third is wasted

at::Tensor ordinary_block(int64_t bytes) {
  if (bytes < kWorthPages) {
    return at::empty({bytes}, at::kByte);
  }
  const std::shared_ptr<std::byte> pages = allocate_pages(static_cast<size_t>(bytes));
  return at::from_blob(pages.get(), {bytes}, [pages](void*) {}, at::kByte);
}

}  // namespace

SlabBlock::SlabBlock(std::shared_ptr<const SlabLayout> layout, const std::string& device)
    : layout_(std::move(layout)),
      block_(device.empty() ? ordinary_block(layout_->bytes())
                            : pinned_block(layout_->bytes(), device)) {
  // Writers keep the address of the block: no operation on a view may move the memory.
  block_.storage().unsafeGetStorageImpl()->set_resizable(false);
  for (int64_t i = 0; i < layout_->columns(); ++i) {
    targets_.push_back(data() + layout_->offset(i));
  }
}

void SlabBlock::view_all(int64_t rows, std::vector<at::Tensor>& views) const {
  views.clear();
  for (int64_t i = 0; i < layout_->columns(); ++i) {
    views.push_back(view(i, rows));
  }
}

bool SlabBlock::is_free() const {
  if (block_.storage().use_count() != 1) {
    return false;
  }
  // The count is read relaxed. Locking a weak reference acquires the last viewer's release, so its
  // reads happen before the next writes; TSan does not support fences.
  static_cast<void>(block_.storage().getWeakStorageImpl().lock());
  return true;
}

}  // namespace torchfeed
