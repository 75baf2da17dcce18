// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/rows/row_table.h"
#include "torch/feed/row_tables.h"
#include "torchfeed/error.h"
#include "torchfeed/row_reader.h"
#include "torchfeed/row_set.h"
#include "torchfeed/runtime.h"
#include "torchfeed/slab.h"

namespace torchfeed::testing {

using Indices = std::vector<int64_t>;
using Sets = std::unique_ptr<RowSet>;

/// Row i is `from + i`, in an int64 column and, three times, in an int16 column.
inline Sets counted(int64_t from, int64_t rows) {
  const at::Tensor numbers = torch::arange(from, from + rows, torch::kInt64);
  return RowSet::of_tensors(
      {numbers, numbers.to(torch::kInt16).unsqueeze(1).repeat({1, 3}).contiguous()});
}

inline Sets subset(const RowSet& set, const Indices& indices) {
  return set.subset(indices.data(), static_cast<int64_t>(indices.size()));
}

/// Returns an empty tensor for each column, as `Slab::create` takes them.
inline std::vector<at::Tensor> prototypes_of(const RowSet& set) {
  std::vector<at::Tensor> prototypes;
  for (const RowShape& row : RowTables::of(set)->columns()) {
    std::vector<int64_t> sizes = {0};
    sizes.insert(sizes.end(), row.sizes.begin(), row.sizes.end());
    prototypes.push_back(at::empty(sizes, static_cast<at::ScalarType>(row.dtype)));
  }
  return prototypes;
}

class RowSets : public ::testing::Test {
 protected:
  ~RowSets() override { EXPECT_EQ(live_objects(), 0); }
};

/// Returns the numbers of the given rows; checks that both columns agree.
inline Indices read(const RowSet& set, const Indices& indices) {
  const auto count = static_cast<int64_t>(indices.size());
  std::vector<at::Tensor> columns = prototypes_of(set);
  const auto slab = Slab::create(columns, count);
  EXPECT_TRUE(RowReader::create(set)->gather(indices.data(), count, *slab));
  slab->view_all(count, columns);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch::equal(columns[1].select(1, i).to(torch::kInt64), columns[0]));
  }
  return {columns[0].const_data_ptr<int64_t>(), columns[0].const_data_ptr<int64_t>() + count};
}

inline Indices all(const RowSet& set) {
  Indices indices(static_cast<size_t>(set.rows()));
  std::iota(indices.begin(), indices.end(), 0);
  return read(set, indices);
}

inline void expect_refused(const std::string& phrase, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "accepted; expected: " << phrase;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find(phrase), std::string::npos) << error.what();
  }
}

}  // namespace torchfeed::testing
