// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/image/scale/image_pass.h"
#include "core/rows/wanted_rows.h"
#include "golden_folder.h"
#include "torchfeed/error.h"

namespace torchfeed::testing {

using Bytes = std::vector<uint8_t>;

/// A random crop of 10 x 12 pixels, mirrored half of the time, as the numbers of a plan; and a seed
/// and an epoch to draw it for.
inline const std::vector<double> kCropSteps = {0, 0, 1, 5, 10, 12, 0.08, 1, 0.75, 1.25, 6, 0.5};
constexpr RandomKey kImageKey = {7, 3};

/// The remedy for a damaged file.
inline const std::string kGetAgain = "; get the file again, or leave it out";

/// Reads a file of the folder of golden images.
inline Bytes golden_image(const std::string& name) {
  std::ifstream file(golden_folder() / "images" / name, std::ios::binary);
  if (!file) {
    throw std::runtime_error("no golden image " + name);
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Decodes, crops and scales an image into interleaved bytes.
inline Bytes passed(ImageSource& source, const Placement& placement, const Resize& resize = {},
                    bool flips_horizontally = false, bool flips_vertically = false) {
  Bytes pixels(static_cast<std::size_t>(3 * placement.window.width * placement.window.height), 77);
  const auto store = interleaved({pixels.data(), placement.window.width, placement.window.height},
                                 flips_horizontally, flips_vertically);
  pass_image(source, placement, resize, *store);
  return pixels;
}

inline Bytes passed(const Bytes& encoded, const Placement& placement, const Resize& resize = {},
                    bool flips_horizontally = false, bool flips_vertically = false) {
  return passed(*open_image(encoded), placement, resize, flips_horizontally, flips_vertically);
}

/// Returns the placement that leaves a region of an image as it is.
inline Placement unscaled(const Region& region) {
  return {region, region.width, region.height, {0, 0, region.width, region.height}};
}

/// Decodes an image as a whole.
inline Bytes decoded(const Bytes& encoded) {
  const auto source = open_image(encoded);
  return passed(encoded, unscaled({0, 0, source->width(), source->height()}));
}

/// The message of the typed error of something unreadable, or empty if there is none.
template <typename Body>
std::string problem(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCode::kUnreadable, error.code()) << error.what();
    return error.message();
  }
  return "";
}

}  // namespace torchfeed::testing
