// SPDX-License-Identifier: Apache-2.0
#include "torch/device/pinned_memory.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <c10/util/intrusive_ptr.h>

#include <mutex>
#include <vector>

#include "torch/base/device.h"
#include "torchfeed/error.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

/// The live page-locked blocks. Weak references leave the memory's allocator context untouched,
/// which tells the allocator of copies started elsewhere.
class PinnedBlocks {
 public:
  void add(const at::Tensor& block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    prune();
    blocks_.push_back({block.storage().getWeakStorageImpl(), block.numel()});
  }

  int64_t bytes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    prune();
    int64_t sum = 0;
    for (const Block& block : blocks_) {
      sum += block.bytes;
    }
    return sum;
  }

 private:
  struct Block {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    int64_t bytes;
  };

  void prune() {
    std::erase_if(blocks_, [](const Block& block) { return block.storage.expired(); });
  }

  std::mutex mutex_;
  std::vector<Block> blocks_;
};

PinnedBlocks& pinned_blocks() {
  static PinnedBlocks blocks;
  return blocks;
}

at::HostAllocator& host_allocator(const c10::Device& device) {
  at::HostAllocator* allocator = nullptr;
  std::string reason = "none is registered";
  try {
    allocator = at::getHostAllocator(device.type());
  } catch (const c10::Error& error) {
    reason = error.what_without_backtrace();
  }
  if (allocator == nullptr) {
    throw Error(ErrorCode::kIllegalState, "host memory cannot be page-locked for " + device.str() +
                                              ": libtorch has no allocator for it (" + reason +
                                              ")");
  }
  return *allocator;
}

}  // namespace

at::Tensor pinned_block(int64_t bytes, const std::string& device) {
  const c10::Device usable = usable_device(device);
  at::HostAllocator& allocator = host_allocator(usable);
  // Creating a tensor on the device makes libtorch initialize the device.
  static_cast<void>(at::empty({0}, at::TensorOptions(at::kByte).device(usable)));
  at::Tensor block(at::detail::empty_generic(
      {bytes}, &allocator, c10::DispatchKeySet(c10::DispatchKey::CPU), at::kByte, std::nullopt));
  pinned_blocks().add(block);
  return block;
}

int64_t pinned_bytes() { return pinned_blocks().bytes(); }

}  // namespace torchfeed
