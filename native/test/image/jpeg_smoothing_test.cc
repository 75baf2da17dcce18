// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "core/image/decode/image_source.h"
#include "image/image_files.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using testing::golden_image;

/// A progressive JPEG without its last scans: cut before each scan but the first.
std::vector<Bytes> without_last_scans(const Bytes& jpeg) {
  constexpr std::array<uint8_t, 2> kScan = {0xff, 0xda};
  std::vector<Bytes> cuts;
  auto at = std::search(jpeg.begin(), jpeg.end(), kScan.begin(), kScan.end());
  while (at != jpeg.end()) {
    at = std::search(at + 2, jpeg.end(), kScan.begin(), kScan.end());
    if (at != jpeg.end()) {
      Bytes& cut = cuts.emplace_back(jpeg.begin(), at);
      cut.insert(cut.end(), {0xff, 0xd9});
    }
  }
  return cuts;
}

/// A rectangle of an image of interleaved RGB.
Bytes part_of(const Bytes& pixels, int64_t width, const Region& region) {
  Bytes part;
  for (int64_t y = region.top; y < region.top + region.height; ++y) {
    const auto row = pixels.begin() + 3 * (y * width + region.left);
    part.insert(part.end(), row, row + 3 * region.width);
  }
  return part;
}

class SmoothedJpeg : public ::testing::TestWithParam<const char*> {};

TEST_P(SmoothedJpeg, CropsEqualThoseOfTheWholeImage) {
  constexpr int kCrops = 40;
  std::mt19937 random(7);
  const auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
  };
  const auto cuts = without_last_scans(golden_image(GetParam()));
  ASSERT_GE(cuts.size(), 4U);
  for (const Bytes& jpeg : cuts) {
    const auto source = open_image(jpeg);
    const int64_t width = source->width();
    const int64_t height = source->height();
    const Bytes whole = testing::passed(jpeg, testing::unscaled({0, 0, width, height}));
    int differ = 0;
    for (int i = 0; i < kCrops; ++i) {
      Region crop{below(width), below(height), 0, 0};
      crop.width = 1 + below(width - crop.left);
      crop.height = 1 + below(height - crop.top);
      const Bytes found = testing::passed(jpeg, testing::unscaled(crop));
      differ += part_of(whole, width, crop) == found ? 0 : 1;
    }
    EXPECT_EQ(0, differ) << "crops, of the first " << jpeg.size() << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, SmoothedJpeg,
                         ::testing::Values("420_progressive.jpg", "422_progressive.jpg",
                                           "444_progressive.jpg", "grey_progressive.jpg",
                                           "ycck_420.jpg"));

}  // namespace
}  // namespace torchfeed
