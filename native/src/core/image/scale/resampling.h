// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace torchfeed {

/// The rule by which a geometric operation takes pixels from the original image.
struct Resampling {
  enum class Filter : uint8_t {
    kNearest,   // the pixel nearest to the origin
    kBilinear,  // the four pixels around the origin, weighted
  };

  Filter filter = Filter::kNearest;
  /// The color of an origin outside of the image; black is torchvision's `fill=None`.
  std::array<uint8_t, 3> fill{};
};

}  // namespace torchfeed
