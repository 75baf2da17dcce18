// SPDX-License-Identifier: Apache-2.0
#include "core/draws/center_box.h"

#include <cmath>

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

Box center_box(int64_t height, int64_t width, int64_t crop_height, int64_t crop_width) {
  return {middle(height, crop_height), middle(width, crop_width), crop_height, crop_width};
}

}  // namespace torchfeed
