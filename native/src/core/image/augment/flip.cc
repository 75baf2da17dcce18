// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/flip.h"

#include <algorithm>

namespace torchfeed {

void flip_horizontally(Pixels pixels) {
  for (int64_t y = 0; y < pixels.height; ++y) {
    uint8_t* left = pixels.data + 3 * pixels.width * y;
    uint8_t* right = left + 3 * (pixels.width - 1);
    for (; left < right; left += 3, right -= 3) {
      std::swap_ranges(left, left + 3, right);
    }
  }
}

void flip_vertically(Pixels pixels) {
  const int64_t row_bytes = 3 * pixels.width;
  for (int64_t y = 0; y < pixels.height / 2; ++y) {
    uint8_t* const upper = pixels.data + row_bytes * y;
    std::swap_ranges(upper, upper + row_bytes, pixels.data + row_bytes * (pixels.height - 1 - y));
  }
}

}  // namespace torchfeed
