// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace torchfeed {

/// A rectangle of an image, in pixels.
struct Box {
  int64_t top;
  int64_t left;
  int64_t height;
  int64_t width;

  bool operator==(const Box& other) const = default;
};

}  // namespace torchfeed
