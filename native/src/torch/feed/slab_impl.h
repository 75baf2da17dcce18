// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "torch/base/live_count.h"
#include "torch/feed/slab_block.h"
#include "torchfeed/slab.h"

namespace torchfeed {

/// The memory behind the facade, which readers write to.
class Slab::Impl {
 public:
  /// @param device  the device that the memory is page-locked for; empty for ordinary memory
  Impl(const std::vector<at::Tensor>& prototypes, int64_t rows, const std::string& device);

  SlabBlock block;

 private:
  const LiveCount live_;
};

}  // namespace torchfeed
