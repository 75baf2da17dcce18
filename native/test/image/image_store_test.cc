// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

#include "core/image/decode/image_source.h"
#include "core/image/scale/pixel_store.h"
#include "core/stream_copy.h"

namespace torchfeed {
namespace {

constexpr std::array<float, 3> kMean = {0.485F, 0.456F, 0.406F};
constexpr std::array<float, 3> kStd = {0.229F, 0.224F, 0.225F};

constexpr std::size_t kAligned = 8;

/// Floats whose address a vector store may stream to.
struct alignas(kAligned * sizeof(float)) Aligned {
  float numbers[kAligned];
};

/// Rows whose bytes differ by column and channel, with slack behind the last one.
std::vector<uint8_t> image(int64_t width, int64_t height) {
  std::vector<uint8_t> rows(static_cast<std::size_t>(3 * width * height) + kRowSlack);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<uint8_t>(i * 7 + i / 256);
  }
  return rows;
}

/// Calls `check` with the place of each pixel's channel in the planes and in the rows.
template <typename Check>
void for_each_place(const StoredShape& shape, const Check& check) {
  for (int64_t c = 0; c < 3; ++c) {
    for (int64_t y = 0; y < shape.height; ++y) {
      for (int64_t x = 0; x < shape.width; ++x) {
        const int64_t from_x = shape.flips_horizontally ? shape.width - 1 - x : x;
        const int64_t from_y = shape.flips_vertically ? shape.height - 1 - y : y;
        check(static_cast<std::size_t>((c * shape.height + y) * shape.width + x),
              static_cast<std::size_t>((from_y * shape.width + from_x) * 3 + c),
              static_cast<std::size_t>(c));
      }
    }
  }
}

void put_rows(PixelStore& store, const std::vector<uint8_t>& rows, const StoredShape& shape) {
  for (int64_t y = 0; y < shape.height; ++y) {
    store.put_row(y, rows.data() + 3 * shape.width * y);
  }
}

class ImageStore : public ::testing::TestWithParam<int64_t> {};

TEST_P(ImageStore, EqualsTheFormulaForEachByteAndFlip) {
  const Normalization normalization(kMean, kStd);
  for (int kind = 0; kind < 8; ++kind) {
    const StoredShape shape{GetParam(), 3, kind % 2 == 1, kind / 2 % 2 == 1,
                            kind < 4 ? Stores::kCached : Stores::kStreamed};
    const std::vector<uint8_t> rows = image(shape.width, shape.height);
    const auto elements = static_cast<std::size_t>(3 * shape.width * shape.height);
    std::vector<Aligned> memory(elements / kAligned + 1);
    float* const floats = memory.data()->numbers;
    put_rows(*float_planes(floats, shape, normalization), rows, shape);
    end_streaming();
    std::vector<uint8_t> bytes(elements);
    put_rows(*byte_planes(bytes.data(), shape), rows, shape);
    std::vector<uint8_t> pixels(elements);
    put_rows(*interleaved({pixels.data(), shape.width, shape.height}, shape.flips_horizontally,
                          shape.flips_vertically),
             rows, shape);
    for_each_place(shape, [&](std::size_t place, std::size_t from, std::size_t c) {
      const volatile float scaled = static_cast<float>(rows[from]) * (1.0F / 255.0F);
      const volatile float centerd = scaled - kMean[c];
      ASSERT_EQ(centerd / kStd[c], floats[place]) << place;
      ASSERT_EQ(rows[from], bytes[place]) << place;
    });
    const StoredShape as_stored{shape.width, shape.height};
    for_each_place(as_stored, [&](std::size_t place, std::size_t from, std::size_t) {
      ASSERT_EQ(bytes[place], pixels[from]) << place;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, ImageStore, ::testing::Values(1, 7, 8, 9, 16, 31, 300));

}  // namespace
}  // namespace torchfeed
