// SPDX-License-Identifier: Apache-2.0
#include "core/row_gather.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <vector>

namespace torchfeed {
namespace {

class RowGather : public testing::TestWithParam<size_t> {};

TEST_P(RowGather, CopiesEachRowToItsPlaceForAnyRowLength) {
  const size_t row_bytes = GetParam();
  std::vector<unsigned char> source(20 * row_bytes);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(0));
  const std::vector<size_t> rows = {19, 0, 7, 7, 3, 18, 1, 2, 19};
  std::vector<unsigned char> target(rows.size() * row_bytes + 1, 0xEE);

  gather_rows(reinterpret_cast<std::byte*>(target.data()),
              reinterpret_cast<const std::byte*>(source.data()), row_bytes, rows);

  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t b = 0; b < row_bytes; ++b) {
      ASSERT_EQ(target[i * row_bytes + b], source[rows[i] * row_bytes + b]) << i << "," << b;
    }
  }
  EXPECT_EQ(target.back(), 0xEE);
}

INSTANTIATE_TEST_SUITE_P(RowLengths, RowGather, testing::Values(0, 1, 2, 3, 4, 7, 8, 63, 64, 3136));

}  // namespace
}  // namespace torchfeed
