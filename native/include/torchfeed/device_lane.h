// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "torchfeed/export.h"

namespace torchfeed {

/// Streams of a device beside the consumer's, for threads that compute ahead of it. A name of the
/// CPU, which has no streams, is accepted everywhere and has no effect.
struct TORCHFEED_API DeviceLane {
  /// Returns the number of a stream of the device's pool, which needs not be freed. Streams of a
  /// pool do not wait for the default stream.
  [[nodiscard]] static int64_t open(const std::string& device);
  /// Makes a stream the calling thread's current one; returns the number of the one before.
  static int64_t enter(const std::string& device, int64_t stream);
  /// Waits until the calling thread's current stream has done all of its work.
  static void drain(const std::string& device);
  /// Tells the allocator that tensors of other streams are used on the calling thread's current
  /// one: once they are freed, their memory is used again only after the work enqueued there.
  static void share(const std::vector<at::Tensor>& tensors);
};

}  // namespace torchfeed
