// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace torchfeed {

/// Copies like `memcpy`, but past the caches where the processor can: for what is read only after
/// so much else that it would have left them. Other threads see it after `end_streaming`.
void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes);

/// Puts all that the calling thread streamed before what it writes next.
void end_streaming();

}  // namespace torchfeed
