// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <mutex>
#include <vector>

namespace torchfeed {

/// Reusable blocks of host memory, one batch each. Thread-safe.
class SlabPool {
 public:
  explicit SlabPool(int64_t slab_bytes) : slab_bytes_(slab_bytes) {}

  /// A slab that nobody else refers to: uint8 `[slab_bytes]`, 64-byte aligned.
  [[nodiscard]] at::Tensor acquire();
  /// Takes a slab back; one that a tensor outside still views is left to that tensor.
  void give_back(at::Tensor slab);

 private:
  const int64_t slab_bytes_;
  std::mutex mutex_;
  std::vector<at::Tensor> free_;
};

}  // namespace torchfeed
