// SPDX-License-Identifier: Apache-2.0
#include "core/rows/row_gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

namespace torchfeed {
namespace {

const std::atomic<bool> kUnstopped{false};

class RowGather : public testing::TestWithParam<std::tuple<size_t, Stores>> {};

TEST_P(RowGather, CopiesRowsOfAnyLengthIntoPlace) {
  const auto [row_bytes, stores] = GetParam();
  std::vector<unsigned char> source(20 * row_bytes);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(0));
  const std::vector<size_t> rows = {19, 0, 7, 7, 3, 18, 1, 2, 19};
  std::vector<unsigned char> target(rows.size() * row_bytes + 1, 0xEE);

  EXPECT_TRUE(gather_rows(reinterpret_cast<std::byte*>(target.data()),
                          reinterpret_cast<const std::byte*>(source.data()), row_bytes, {rows},
                          kUnstopped, stores));

  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t b = 0; b < row_bytes; ++b) {
      ASSERT_EQ(target[i * row_bytes + b], source[rows[i] * row_bytes + b]) << i << "," << b;
    }
  }
  EXPECT_EQ(target.back(), 0xEE);
}

TEST_P(RowGather, CopiesRowsToTheirPlacesAndNowhereElse) {
  const auto [row_bytes, stores] = GetParam();
  std::vector<unsigned char> source(20 * row_bytes);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(0));
  const std::vector<size_t> rows = {19, 0, 7, 7, 3, 18, 1};
  const std::vector<size_t> places = {8, 0, 3, 9, 1, 2, 6};
  std::vector<unsigned char> target(10 * row_bytes, 0xEE);
  std::vector<unsigned char> expected = target;
  for (size_t i = 0; i < rows.size() && row_bytes > 0; ++i) {
    std::memcpy(expected.data() + places[i] * row_bytes, source.data() + rows[i] * row_bytes,
                row_bytes);
  }

  EXPECT_TRUE(gather_rows(reinterpret_cast<std::byte*>(target.data()),
                          reinterpret_cast<const std::byte*>(source.data()), row_bytes,
                          {rows, places}, kUnstopped, stores));

  EXPECT_EQ(target, expected);
}

/// Row lengths around the number of bytes after which a gather checks whether to stop.
class LongGather : public testing::TestWithParam<std::tuple<size_t, Stores>> {};

TEST_P(LongGather, IsCompleteAcrossTheChecksForAStop) {
  const auto [row_bytes, stores] = GetParam();
  std::vector<std::byte> source(2 * row_bytes);
  for (size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<std::byte>(i * 31 + i / 4096);
  }
  const std::vector<size_t> rows = {1, 0, 1};
  std::vector<std::byte> target(rows.size() * row_bytes);
  EXPECT_TRUE(gather_rows(target.data(), source.data(), row_bytes, {rows}, kUnstopped, stores));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(
        std::memcmp(target.data() + i * row_bytes, source.data() + rows[i] * row_bytes, row_bytes),
        0)
        << i;
  }
}

TEST_P(LongGather, CopiesRowsToTheirPlaces) {
  const auto [row_bytes, stores] = GetParam();
  std::vector<std::byte> source(2 * row_bytes, std::byte{1});
  std::fill_n(source.begin(), row_bytes, std::byte{2});
  const std::vector<size_t> rows = {1, 0};
  const std::vector<size_t> places = {2, 0};
  std::vector<std::byte> target(3 * row_bytes);
  EXPECT_TRUE(
      gather_rows(target.data(), source.data(), row_bytes, {rows, places}, kUnstopped, stores));
  EXPECT_EQ(target.front(), std::byte{2});
  EXPECT_EQ(target[row_bytes - 1], std::byte{2});
  EXPECT_EQ(target[row_bytes], std::byte{0});
  EXPECT_EQ(target[2 * row_bytes - 1], std::byte{0});
  EXPECT_EQ(target[2 * row_bytes], std::byte{1});
  EXPECT_EQ(target.back(), std::byte{1});
}

TEST_P(LongGather, WritesNothingOnceStopped) {
  const auto [row_bytes, stores] = GetParam();
  const std::vector<std::byte> source(row_bytes, std::byte{1});
  std::vector<std::byte> target(row_bytes);
  const std::atomic<bool> stop{true};
  const std::vector<size_t> rows = {0};
  EXPECT_FALSE(gather_rows(target.data(), source.data(), row_bytes, {rows}, stop, stores));
  EXPECT_EQ(target, std::vector<std::byte>(row_bytes));
}

const auto kAllStores = testing::Values(Stores::kCached, Stores::kStreamed);

INSTANTIATE_TEST_SUITE_P(RowLengths, LongGather,
                         testing::Combine(testing::Values(3000, (4 << 20) - 1, 4 << 20,
                                                          (4 << 20) + 1, 9 << 20),
                                          kAllStores));

INSTANTIATE_TEST_SUITE_P(RowLengths, RowGather,
                         testing::Combine(testing::Values(0, 1, 2, 3, 4, 7, 8, 63, 64, 3136, 4096,
                                                          4097, 5000, 9999),
                                          kAllStores));

}  // namespace
}  // namespace torchfeed
