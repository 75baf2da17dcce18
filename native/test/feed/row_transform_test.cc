// SPDX-License-Identifier: Apache-2.0
// Transforms of single rows, compared with operations of libtorch on the whole column.
#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/rows/row_recipe.h"
#include "feed/feed_batches.h"
#include "feed/row_files.h"
#include "torch/feed/row_columns.h"
#include "torch/feed/row_tables.h"
#include "torchfeed/batch_feed.h"
#include "torchfeed/error.h"
#include "torchfeed/row_plan.h"
#include "torchfeed/row_set.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

using Steps = std::vector<double>;
using Sets = std::unique_ptr<RowSet>;

constexpr float kScale = 1.0F / 255.0F;
const std::vector<float> kMean = {0.49F, 0.31F, -2};
const std::vector<float> kStd = {0.25F, 3, -0.7F};

class RowTransforms : public ::testing::Test {
 protected:
  ~RowTransforms() override { EXPECT_EQ(live_objects(), 0); }
};

Sets transformed(const RowSet& set, const Steps& steps) {
  return set.transformed(0, steps.data(), static_cast<int64_t>(steps.size()));
}

/// Returns rows of the first column, in an order that is not theirs.
at::Tensor gathered(const RowSet& set, const std::vector<int64_t>& rows, int64_t epoch = 0) {
  const auto feed = BatchFeed::create(set, static_cast<int64_t>(rows.size()), 2, 1, true);
  feed->draw_for(0, epoch);
  feed->request(0, rows.data(), static_cast<int64_t>(rows.size()));
  feed->start();
  return take(*feed, -1)[0];
}

const std::vector<int64_t> kRows = {4, 0, 3, 3, 1};

void expect_equal(const at::Tensor& column, const Steps& steps, const at::Tensor& expected) {
  const at::Tensor made = gathered(*transformed(*RowSet::of_tensors({column}), steps), kRows);
  const at::Tensor wanted = expected.index_select(0, torch::tensor(kRows));
  EXPECT_EQ(made.scalar_type(), wanted.scalar_type());
  EXPECT_EQ(made.sizes(), wanted.sizes());
  EXPECT_TRUE(torch::equal(made, wanted)) << column.scalar_type() << ' ' << steps.size();
}

Steps normalize(int64_t channels) {
  Steps steps = {kRowNormalize, static_cast<double>(channels)};
  steps.insert(steps.end(), kMean.begin(), kMean.begin() + channels);
  steps.insert(steps.end(), kStd.begin(), kStd.begin() + channels);
  return steps;
}

Steps operator+(Steps first, const Steps& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

at::Tensor per_channel(const std::vector<float>& numbers) {
  return torch::tensor(numbers).reshape({-1, 1, 1});
}

/// Columns of all dtypes, with all bytes and large numbers.
std::vector<at::Tensor> columns(at::IntArrayRef sizes) {
  const at::Tensor bytes = torch::randint(256, sizes, torch::kByte);
  const at::Tensor wide =
      torch::randint(std::numeric_limits<int64_t>::min() / 2,
                     std::numeric_limits<int64_t>::max() / 2, sizes, torch::kLong);
  const at::Tensor doubles = torch::randn(sizes, torch::kDouble) * 1000;
  return {bytes,   bytes.to(torch::kChar),   wide.to(torch::kShort), wide.to(torch::kInt), wide,
          doubles, doubles.to(torch::kFloat)};
}

TEST_F(RowTransforms, NumbersEqualTorchs) {
  for (const at::Tensor& column : columns({5, 3, 13, 11})) {
    const at::Tensor floats = column.to(torch::kFloat);
    const at::Tensor scaled = floats.mul(kScale);
    expect_equal(column, {kRowScale, kScale}, scaled);
    expect_equal(column, normalize(1), floats.sub(kMean[0]).div(kStd[0]));
    const at::Tensor mean = per_channel(kMean);
    const at::Tensor std = per_channel(kStd);
    expect_equal(column, normalize(3), floats.sub(mean).div(std));
    expect_equal(column, normalize(3) + Steps{kRowScale, kScale}, scaled.sub(mean).div(std));
    expect_equal(column, {kRowCast, 6}, floats);
    expect_equal(column, {kRowCast, 7}, column.to(torch::kDouble));
    for (const auto half : {torch::kHalf, torch::kBFloat16}) {
      const Steps cast = {kRowCast, static_cast<double>(half)};
      expect_equal(column, cast, column.to(half));
      expect_equal(column, normalize(3) + Steps{kRowScale, kScale} + cast,
                   scaled.sub(mean).div(std).to(half));
    }
    if (!column.is_floating_point()) {
      expect_equal(column, {kRowCast, 4}, column.to(torch::kLong));
    }
  }
}

TEST_F(RowTransforms, RowsOfAnyDimensionsAreConverted) {
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{5}, {5, 7}, {5, 4, 9}, {5, 0, 9}, {5, 2, 3, 4, 5}}) {
    const at::Tensor column = torch::randint(256, sizes, torch::kByte);
    const at::Tensor floats = column.to(torch::kFloat);
    expect_equal(column, Steps{kRowScale, kScale} + normalize(1),
                 floats.mul(kScale).sub(kMean[0]).div(kStd[0]));
    if (sizes.size() == 5) {
      const at::Tensor mean = per_channel(kMean);
      expect_equal(column, normalize(3), floats.sub(mean).div(per_channel(kStd)));
    }
  }
}

TEST_F(RowTransforms, PartsEqualTorchsWithZeroOutside) {
  using at::indexing::Slice;
  for (const at::Tensor& column : columns({5, 3, 7, 9})) {
    expect_equal(column, {kRowCrop, 2, 1, 4, 6},
                 column.index({Slice(), Slice(), Slice(2, 6), Slice(1, 7)}).contiguous());
    const at::Tensor padded = torch::constant_pad_nd(column, {2, 4, 1, 3});
    expect_equal(column, {kRowCrop, -1, -2, 11, 15}, padded);
    expect_equal(column, {kRowCrop, -1, -2, 11, 15, kRowScale, kScale},
                 padded.to(torch::kFloat).mul(kScale));
    expect_equal(column, normalize(3) + Steps{kRowCrop, -1, -2, 11, 15},
                 padded.to(torch::kFloat).sub(per_channel(kMean)).div(per_channel(kStd)));
    expect_equal(column, {kRowCrop, 20, 0, 2, 2}, at::zeros({5, 3, 2, 2}, column.options()));
    expect_equal(column, {kRowCrop, 0, -20, 2, 2}, at::zeros({5, 3, 2, 2}, column.options()));
    expect_equal(column, {kRowCenterCrop, 3, 4},
                 column.index({Slice(), Slice(), Slice(2, 5), Slice(2, 6)}).contiguous());
    expect_equal(column, {kRowHorizontalFlip, 1}, column.flip({3}));
    expect_equal(column, Steps{kRowCrop, -1, -2, 11, 15, kRowHorizontalFlip, 1, kRowCast, 5},
                 padded.flip({3}).to(torch::kHalf));
    expect_equal(column, {kRowHorizontalFlip, 0}, column);
  }
  const at::Tensor empty = torch::zeros({5, 2, 4, 0}, torch::kByte);
  expect_equal(empty, {kRowHorizontalFlip, 1}, empty);
  expect_equal(empty, {kRowCrop, 0, 0, 4, 3}, torch::zeros({5, 2, 4, 3}, torch::kByte));
}

TEST_F(RowTransforms, RandomStepsAreThoseOfTheSample) {
  const at::Tensor column = torch::randint(256, {5, 2, 6, 8}, torch::kByte);
  const at::Tensor padded = torch::constant_pad_nd(column, {3, 3, 3, 3});
  const Steps steps = {kRowRandomCrop, 5, 6, 3, kRowHorizontalFlip, 0.5};
  const RowRecipe recipe = read_row_plan(steps);
  const auto set = RowSet::of_tensors({column});
  const auto changed = transformed(*set, steps);
  const std::vector<int64_t> chosen = {3, 2, 0};
  const auto subset = changed->subset(chosen.data(), 3)->concat(*changed);
  const at::Tensor made = gathered(*subset, {1, 4, 2}, 9);
  const std::array<std::pair<int64_t, int64_t>, 3> samples = {{{1, 2}, {4, 1}, {2, 0}}};
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto [index, row] = samples[i];
    SampleWords words(0, 9, index);
    const auto [box, flips] = draw_part(recipe, words, 6, 8);
    at::Tensor expected = padded[row].narrow(1, box.top + 3, 5).narrow(2, box.left + 3, 6);
    expected = flips ? expected.flip({2}) : expected;
    EXPECT_TRUE(torch::equal(made[static_cast<int64_t>(i)], expected)) << index;
  }
}

TEST_F(RowTransforms, LongLinesAndManyChannelsAreConverted) {
  const at::Tensor column = torch::randint(256, {5, 2, 3, 9001}, torch::kByte);
  for (const auto& [flip, wanted] : {std::pair(0.0, column), {1.0, column.flip({3})}}) {
    const at::Tensor padded = torch::constant_pad_nd(wanted, {2, 2, 0, 1});
    expect_equal(column, {kRowCrop, 0, -2, 4, 9005, kRowHorizontalFlip, flip, kRowCast, 6},
                 padded.to(torch::kFloat));
  }
  const at::Tensor channels = torch::randint(256, {5, 100, 3, 4}, torch::kByte);
  const at::Tensor mean = torch::arange(100, torch::kFloat);
  Steps steps = {kRowNormalize, 100};
  for (int i = 0; i < 200; ++i) {
    steps.push_back(i < 100 ? i : 1);
  }
  expect_equal(channels, steps, channels.to(torch::kFloat).sub(mean.reshape({-1, 1, 1})));
}

TEST_F(RowTransforms, RowsOfFilesAreTransformedToo) {
  const RowFiles files;
  std::vector<int64_t> numbers(40'000);
  std::iota(numbers.begin(), numbers.end(), -20'000);
  const std::string path = files.write("numbers", numbers);
  const auto columns = FileColumns::create();
  const std::array<int64_t, 1> sizes = {8};
  columns->add_column(static_cast<int64_t>(at::kLong), sizes.data(), 1, 1);
  columns->add_file(path, 0, 64, 5000);
  const auto set = transformed(*RowSet::of_files(*columns), {kRowScale, 0.5});
  std::vector<int64_t> rows(5000);  // 2.5 times the rows of one read
  std::iota(rows.rbegin(), rows.rend(), 0);
  EXPECT_TRUE(torch::equal(gathered(*set, rows), torch::arange(-20'000, 20'000, torch::kLong)
                                                     .reshape({5000, 8})
                                                     .flip(0)
                                                     .to(torch::kFloat)
                                                     .mul(0.5)));
}

TEST_F(RowTransforms, MayFollowEachOtherAndKeepOtherColumns) {
  const at::Tensor column = torch::randint(256, {5, 3, 4, 4}, torch::kByte);
  const at::Tensor labels = torch::arange(5, torch::kLong);
  const auto first = RowSet::of_tensors({column, labels})
                         ->transformed(0, std::array<double, 2>{kRowScale, 2}.data(), 2);
  const auto second = transformed(*first, {kRowCrop, 1, 1, 2, 2});
  EXPECT_TRUE(torch::equal(gathered(*second, {3, 2}), column.to(torch::kFloat)
                                                          .mul(2)
                                                          .narrow(2, 1, 2)
                                                          .narrow(3, 1, 2)
                                                          .index_select(0, torch::tensor({3, 2}))));
  EXPECT_EQ(RowTables::of(*second)->columns()[1], RowTables::of(*first)->columns()[1]);
}

/// Returns the rows 0 and 1 of the set and itself, of those and themselves, and so on.
Sets nested(Sets set, int depth) {
  const std::array<int64_t, 2> both = {0, 1};
  for (int i = 0; i < depth; ++i) {
    set = set->concat(*set)->subset(both.data(), 2);
  }
  return set;
}

TEST_F(RowTransforms, APartThatSelectionsShareIsTransformedOnce) {
  const at::Tensor column = torch::arange(10, torch::kByte).reshape({5, 2});
  const auto set = transformed(*nested(RowSet::of_tensors({column}), 60), {kRowScale, 2});
  EXPECT_TRUE(
      torch::equal(gathered(*set, {1, 0, 1}),
                   column.to(torch::kFloat).mul(2).index_select(0, torch::tensor({1, 0, 1}))));
}

TEST_F(RowTransforms, SelectionsMayNestUpToALimit) {
  const at::Tensor column = torch::arange(10, torch::kByte).reshape({5, 2});
  auto deep = transformed(*nested(RowSet::of_tensors({column}), 499), {kRowScale, 1});
  EXPECT_TRUE(torch::equal(gathered(*deep, {1}), column.to(torch::kFloat).narrow(0, 1, 1)));
  try {
    nested(std::move(deep), 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        "INVALID_ARGUMENT|subsets of concatenations of subsets can be nested at most 1000 "
        "deep; select the rows of the first dataset instead",
        error.what());
  }
}

TEST_F(RowTransforms, WhatDoesNotFitIsRefused) {
  const auto bytes = RowSet::of_tensors({torch::zeros({2, 3, 4, 4}, torch::kByte)});
  const auto floats = RowSet::of_tensors({torch::zeros({2, 3})});
  const auto halves = RowSet::of_tensors({torch::zeros({2, 3}, torch::kHalf)});
  const auto refuses = [](const RowSet& set, const std::string& phrase, const Steps& steps) {
    try {
      EXPECT_EQ(nullptr, transformed(set, steps));
    } catch (const Error& error) {
      EXPECT_EQ(ErrorCode::kInvalidArgument, error.code());
      EXPECT_NE(std::string(error.what()).find(phrase), std::string::npos) << error.what();
    }
  };
  refuses(*bytes, "end within a step", {kRowScale});
  refuses(*bytes, "integer in [0, 6], got 7", {7, 1});
  refuses(*bytes, "integer in [1, 16777216], got 0", {kRowCenterCrop, 0, 1});
  refuses(*bytes, "as many channels as the mean", normalize(2));
  refuses(*floats, "as many channels as the mean", normalize(3));
  refuses(*floats, "a height and a width", {kRowCenterCrop, 1, 1});
  refuses(*floats, "a height and a width", {kRowHorizontalFlip, 1});
  refuses(*floats, "floats cannot be cast to int64", {kRowCast, 4});
  refuses(*bytes, "cast to float16, bfloat16, float32, float64 and int64", {kRowCast, 3});
  refuses(*bytes, "scaled or normalized rows are float32", {kRowScale, 1, kRowCast, 7});
  refuses(*bytes, "rows can be cast to", {kRowCast, 9});
  refuses(*bytes, "must not exceed the row and its padding", {kRowRandomCrop, 7, 1, 1});
  refuses(*halves, "integers or floats of C++", {kRowScale, 1});
  try {
    EXPECT_EQ(nullptr, bytes->transformed(1, nullptr, 0));
  } catch (const Error& error) {
    EXPECT_STREQ("INVALID_ARGUMENT|there is no column 1 to transform", error.what());
  }
}

}  // namespace
}  // namespace torchfeed
