// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace torchfeed {

/// Copies like `memcpy`, but bypasses the caches if the processor can: for data that would be
/// evicted before it is read. Other threads see the data only after `end_streaming`.
void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes);

/// Orders all streamed stores of the calling thread before its later stores.
void end_streaming();

}  // namespace torchfeed
