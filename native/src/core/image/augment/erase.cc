// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/erase.h"

#include <algorithm>

namespace torchfeed {

void erase(Pixels pixels, const Box& box, const std::array<uint8_t, 3>& fill) {
  for (int64_t y = box.top; y < box.top + box.height; ++y) {
    uint8_t* pixel = pixels.data + 3 * (pixels.width * y + box.left);
    for (int64_t x = 0; x < box.width; ++x) {
      pixel = std::copy(fill.begin(), fill.end(), pixel);
    }
  }
}

}  // namespace torchfeed
