// SPDX-License-Identifier: Apache-2.0
#include "core/image/padded_crop.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "core/image/erase.h"

namespace torchfeed {
namespace {

/// The first of `crop` numbers in the middle of [0, side); Python's `round` takes halves to even.
int64_t middle(int64_t side, int64_t crop) {
  if (crop > side) {
    return -((crop - side) / 2);
  }
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(side - crop) / 2));
}

}  // namespace

Box centre_box(int64_t height, int64_t width, int64_t crop_height, int64_t crop_width) {
  return {middle(height, crop_height), middle(width, crop_width), crop_height, crop_width};
}

void crop_padded(Pixels source, const Box& box, const std::array<uint8_t, 3>& fill, Pixels target) {
  const int64_t left = std::clamp<int64_t>(-box.left, 0, box.width);
  const int64_t right = std::clamp(source.width - box.left, left, box.width);
  for (int64_t y = 0; y < box.height; ++y) {
    const int64_t from = box.top + y;
    const bool inside = from >= 0 && from < source.height;
    const int64_t begin = inside ? left : box.width;
    const int64_t end = inside ? right : box.width;
    erase(target, {y, 0, 1, begin}, fill);
    if (begin < end) {
      std::memcpy(target.data + 3 * (target.width * y + begin),
                  source.data + 3 * (source.width * from + box.left + begin),
                  static_cast<size_t>(3 * (end - begin)));
    }
    erase(target, {y, end, 1, box.width - end}, fill);
  }
}

}  // namespace torchfeed
