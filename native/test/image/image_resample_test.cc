// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/image/decode/image_source.h"
#include "core/image/scale/resample_axis.h"
#include "core/image/scale/resample_kernels.h"

namespace torchfeed {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr std::array kDialects = {ResizeDialect::kPillow, ResizeDialect::kTorchvision,
                                  ResizeDialect::kPillow12, ResizeDialect::kTorchvisionPlain};
constexpr std::array kFilters = {ResizeFilter::kBox, ResizeFilter::kBilinear,
                                 ResizeFilter::kBicubic, ResizeFilter::kLanczos};

Bytes random_row(std::mt19937& random, int64_t pixels) {
  Bytes row(static_cast<std::size_t>(3 * pixels) + kRowSlack);
  std::generate(row.begin(), row.end(), [&] { return static_cast<uint8_t>(random()); });
  return row;
}

int64_t weight(const ResizeAxis& axis, int64_t output, int64_t tap) {
  const auto at = static_cast<std::size_t>(output * axis.stride + tap);
  return axis.is_split() ? axis.high[at] * 2048 + axis.low[at] : axis.high[at];
}

TEST(ImageResample, AllKernelsComputeTheSameRows) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const int64_t input = 1 + static_cast<int64_t>(random() % 90);
    const int64_t output = 1 + static_cast<int64_t>(random() % 90);
    ResizeAxis axis(kDialects[random() % 4], kFilters[random() % 4], input, output, 0, output);
    const Bytes row = random_row(random, input);
    std::vector<Bytes> rows;
    std::vector<const uint8_t*> pointers;
    for (int64_t k = 0; k < axis.max_taps() + 3; ++k) {
      rows.push_back(random_row(random, 37));
      pointers.push_back(rows.back().data());
    }
    const int64_t chosen = static_cast<int64_t>(random()) % output;
    std::vector<Bytes> results;
    for (const ResampleKernels& kernels : resample_kernels()) {
      Bytes wide(static_cast<std::size_t>(3 * output) + kRowSlack);
      kernels.prepare(axis);
      kernels.horizontal(wide.data(), row.data(), axis);
      wide.resize(static_cast<std::size_t>(3 * output));
      Bytes high(3 * 37 + kRowSlack);
      kernels.vertical(high.data(), pointers.data(), axis, chosen, 3 * 37);
      wide.insert(wide.end(), high.begin(), high.begin() + 3 * 37);
      results.push_back(wide);
    }
    for (const Bytes& result : results) {
      EXPECT_EQ(results.front(), result) << input << " to " << output;
    }
  }
  EXPECT_EQ("plain", resample_kernels().back().name);
}

TEST(ImageResample, WeightsAddUpToOne) {
  for (const ResizeDialect dialect : kDialects) {
    for (const ResizeFilter filter : kFilters) {
      const ResizeAxis axis(dialect, filter, 100, 33, 0, 33);
      for (int64_t i = 0; i < 33; ++i) {
        int64_t sum = 0;
        for (int64_t k = 0; k < axis.stride; ++k) {
          sum += weight(axis, i, k);
        }
        EXPECT_LE(std::abs((int64_t{1} << axis.precision) - sum), axis.stride);
      }
    }
  }
}

TEST(ImageResample, AWindowHasTheWeightsOfTheWholeAxis) {
  const ResizeAxis whole(ResizeDialect::kTorchvision, ResizeFilter::kBicubic, 57, 40, 0, 40);
  ResizeAxis part(ResizeDialect::kTorchvision, ResizeFilter::kBicubic, 57, 40, 11, 20);
  const int64_t first = part.begin();
  EXPECT_GT(first, 0);
  EXPECT_LT(part.end(), 57);
  part.shift(first);
  EXPECT_EQ(whole.precision, part.precision);
  for (int64_t i = 0; i < 20; ++i) {
    const Taps& expected = whole.taps[static_cast<std::size_t>(i + 11)];
    const Taps& taps = part.taps[static_cast<std::size_t>(i)];
    EXPECT_EQ(expected.first, taps.first + first);
    ASSERT_EQ(expected.count, taps.count);
    for (int64_t k = 0; k < taps.count; ++k) {
      EXPECT_EQ(weight(whole, i + 11, k), weight(part, i, k));
    }
  }
}

}  // namespace
}  // namespace torchfeed
