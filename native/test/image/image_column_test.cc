// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/image_column.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/image/recipe/image_plan_reader.h"
#include "core/image/recipe/plan_cache.h"
#include "core/rows/row_table.h"
#include "golden_folder.h"
#include "image/image_files.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using testing::kCropSteps;
using testing::kImageKey;

const std::vector<std::string> kNames = {"420.jpg", "rgba.png", "lossy.webp", "cmyk.jpg"};

std::string path_of(const std::string& name) {
  return (testing::golden_folder() / "images" / name).string();
}

SharedTable table_of_files(const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    paths.push_back(path_of(name));
  }
  const ImageRecipe recipe = read_plan(kCropSteps);
  return table_of(
      {std::make_shared<const ImageColumn>(paths, recipe, RowShape{0, {3, 10, 12}, 360})});
}

/// The rows of a batch, one after another.
Bytes gathered(const RowTable& table, const Rows& rows, const RandomKey& key) {
  Bytes batch(rows.size() * 360);
  const std::atomic<bool> stop{false};
  const std::array<std::byte*, 1> targets = {reinterpret_cast<std::byte*>(batch.data())};
  EXPECT_TRUE(table.gather(targets, {rows, {}, {}, key}, stop, Stores::kCached));
  return batch;
}

/// The row of a file for the index of its sample.
Bytes expected(const std::string& name, int64_t index, const RandomKey& key) {
  Bytes row(360);
  SampleWords words(key.seed, key.epoch, index);
  make_row(read_plan(kCropSteps), testing::golden_image(name), words,
           reinterpret_cast<std::byte*>(row.data()));
  return row;
}

Bytes joined(const std::vector<Bytes>& rows) {
  Bytes all;
  for (const Bytes& row : rows) {
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

TEST(ImageColumn, DrawsForSeedEpochAndIndex) {
  const SharedTable table = table_of_files(kNames);
  const Bytes batch = gathered(*table, {2, 0, 3}, kImageKey);
  EXPECT_EQ(joined({expected(kNames[2], 2, kImageKey), expected(kNames[0], 0, kImageKey),
                    expected(kNames[3], 3, kImageKey)}),
            batch);
  EXPECT_NE(batch, gathered(*table, {2, 0, 3}, {7, 4}));
  EXPECT_NE(batch, gathered(*table, {2, 0, 3}, {8, 3}));
}

TEST(ImageColumn, DrawsForTheIndexInTheSubsetOrConcatenation) {
  const SharedTable part = subset_of(table_of_files(kNames), {3, 1, 3});
  EXPECT_EQ(joined({expected(kNames[3], 2, kImageKey), expected(kNames[1], 1, kImageKey)}),
            gathered(*part, {2, 1}, kImageKey));
  const SharedTable both = concatenation_of(table_of_files(kNames), part);
  EXPECT_EQ(joined({expected(kNames[1], 5, kImageKey), expected(kNames[2], 2, kImageKey),
                    expected(kNames[3], 6, kImageKey), expected(kNames[0], 0, kImageKey)}),
            gathered(*both, {5, 2, 6, 0}, kImageKey));
}

TEST(ImageColumn, NamesAFileThatCannotBeReadAndItsPlace) {
  const SharedTable table =
      table_of_files({"420.jpg", "none.jpg", "cases.txt", "../images", "rgb.png"});
  const std::vector<std::pair<std::size_t, std::string>> problems = {
      {1, "No such file or directory"},
      {2,
       "an image must be a JPEG, PNG, WebP, BMP, GIF, PNM or TIFF, but its first bytes are 23 20 "
       "70 72 6f 67 72 61; convert it to PNG, or leave it out"},
      {3, "it is not a regular file"}};
  for (const auto& [row, reason] : problems) {
    try {
      gathered(*table, {0, 4, row, 0}, kImageKey);
      ADD_FAILURE() << "read " << row;
    } catch (const UnreadableRow& error) {
      EXPECT_EQ(2U, error.place());
      const std::string message = error.what();
      EXPECT_TRUE(message.ends_with(" cannot be read as an image: " + reason)) << message;
      EXPECT_TRUE(message.starts_with("UNREADABLE|" + path_of(""))) << message;
    }
  }
}

TEST(ImageColumn, StopsBetweenImages) {
  const SharedTable table = table_of_files(kNames);
  Bytes batch(360);
  const std::array<std::byte*, 1> targets = {reinterpret_cast<std::byte*>(batch.data())};
  const std::atomic<bool> stop{true};
  const Rows rows = {1};
  EXPECT_FALSE(table->gather(targets, {rows, {}, {}, kImageKey}, stop, Stores::kCached));
}

TEST(PlanCache, ReadsAPlanOnceWhileItIsAmongTheLastUsed) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto plan = [](double side) {
    return std::vector<double>{2, side, side, 8, kNaN, 1, 0.5, 1, kNaN, 1, kNaN, 1};
  };
  PlanCache plans;
  const ImageRecipe* const first = &plans.recipe(plan(1));
  EXPECT_EQ(1, first->height);
  for (double side = 2; side <= PlanCache::kPlans; ++side) {
    EXPECT_EQ(side, plans.recipe(plan(side)).width);
    EXPECT_EQ(first, &plans.recipe(plan(1)));
  }
  EXPECT_EQ(PlanCache::kPlans + 1.0, plans.recipe(plan(PlanCache::kPlans + 1.0)).width);
  EXPECT_EQ(first, &plans.recipe(plan(1)));
  EXPECT_THROW(plans.recipe(std::vector<double>{}), Error);
  EXPECT_EQ(first, &plans.recipe(plan(1)));
}

}  // namespace
}  // namespace torchfeed
