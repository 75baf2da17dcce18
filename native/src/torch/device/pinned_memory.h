// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace torchfeed {

/// Allocates host memory that is page-locked for the type of `device`: uint8 `[bytes]`. Counted by
/// `pinned_bytes` until the last tensor that views it is destroyed.
at::Tensor pinned_block(int64_t bytes, const std::string& device);

}  // namespace torchfeed
