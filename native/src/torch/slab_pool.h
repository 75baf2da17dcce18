// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace torchfeed {

/// Reusable blocks of host memory, one batch each. Thread-safe.
class SlabPool {
 public:
  explicit SlabPool(int64_t slab_bytes) : slab_bytes_(slab_bytes) {}

  /// Makes the slabs of memory that is page-locked for a device. Before the first `acquire`.
  void pin_for(const std::string& device);
  /// A slab that nobody else refers to: uint8 `[slab_bytes]`, 64-byte aligned.
  [[nodiscard]] at::Tensor acquire();
  /// Takes a slab back; one that a tensor outside still views is left to that tensor, unless it is
  /// page-locked: then a copy reads it, and it is used again after that.
  void give_back(at::Tensor slab);

 private:
  const int64_t slab_bytes_;
  std::string device_;  // empty for ordinary memory
  std::mutex mutex_;
  std::vector<at::Tensor> free_;
  std::deque<at::Tensor> read_;  // by copies
};

}  // namespace torchfeed
