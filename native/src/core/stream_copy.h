// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/stores.h"

namespace torchfeed {

/// Bytes of a line of the caches.
constexpr std::size_t kCacheLine = 64;

/// Bytes of the shortest row that is streamed. Shorter ones gain nothing: cache lines shared with
/// the next row are not streamed.
constexpr std::size_t kLeastStreamed = 4096;

/// Copies like `memcpy`, but bypasses the caches if the processor can: for data that would be
/// evicted before it is read. Other threads see the data only after `end_streaming`.
void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes);

/// Orders all streamed stores of the calling thread before its later stores.
void end_streaming();

/// Ends the streaming of a scope, however that is left.
class Streaming {
 public:
  explicit Streaming(Stores stores) : stores_(stores) {}
  Streaming(const Streaming&) = delete;
  Streaming& operator=(const Streaming&) = delete;
  ~Streaming() {
    if (stores_ == Stores::kStreamed) {
      end_streaming();
    }
  }

 private:
  const Stores stores_;
};

}  // namespace torchfeed
