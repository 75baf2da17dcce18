// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/file_columns.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "feed/feed_batches.h"
#include "feed/row_files.h"
#include "torchfeed/batch_feed.h"
#include "torchfeed/error.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

constexpr int64_t kFileRows = 100;

int64_t number_of(at::ScalarType dtype) { return static_cast<int64_t>(dtype); }

/// Column 0: float32 `[rows, 2, 3]`. Column 1: int64 `[rows]`, row i is i.
class FileFeeds : public ::testing::TestWithParam<int64_t> {
 protected:
  FileFeeds()
      : images_(torch::arange(kFileRows * 6, torch::kFloat32).view({kFileRows, 2, 3})),
        labels_(kFileRows),
        columns_(FileColumns::create()) {
    std::iota(labels_.begin(), labels_.end(), 0);
    const std::vector<float> pixels(images_.const_data_ptr<float>(),
                                    images_.const_data_ptr<float>() + images_.numel());
    const std::vector<int64_t> sizes = {2, 3};
    columns_->add_column(number_of(at::kFloat), sizes.data(), 2, 1);
    columns_->add_file(files_.write("images", pixels), 0, 24, kFileRows);
    columns_->add_column(number_of(at::kLong), nullptr, 0, 1);
    labels_path_ = files_.write("labels", labels_);
    columns_->add_file(labels_path_, 0, 8, kFileRows);
  }

  ~FileFeeds() override {
    columns_.reset();
    EXPECT_EQ(live_objects(), 0);
    EXPECT_EQ(open_files(), opened_before_);
  }

  [[nodiscard]] std::unique_ptr<BatchFeed> feed(int64_t batch_rows, int64_t prefetch) const {
    return BatchFeed::create(*RowSet::of_files(*columns_), batch_rows, GetParam(), prefetch, true);
  }

  const int64_t opened_before_ = open_files();
  const RowFiles files_;
  const at::Tensor images_;
  std::vector<int64_t> labels_;
  std::string labels_path_;
  std::unique_ptr<FileColumns> columns_;
};

TEST_P(FileFeeds, DeliversTheRequestedRowsInOrder) {
  auto feed = this->feed(8, 3);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    ASSERT_TRUE(feed->rewind());
    const auto rows_of = [&](int64_t batch) {
      std::vector<int64_t> rows;
      for (int64_t i = 0; i < (batch == 12 ? 4 : 8); ++i) {
        rows.push_back((batch * 37 + (i < 4 ? i : i * 11) + epoch) % kFileRows);
      }
      return rows;
    };
    int64_t requested = 0;
    const auto request = [&] {
      if (requested < 13) {
        const auto rows = rows_of(requested++);
        feed->request(0, rows.data(), static_cast<int64_t>(rows.size()));
      }
    };
    for (int i = 0; i < 3; ++i) {
      request();
    }
    feed->start();
    for (int64_t batch = 0; batch < 13; ++batch) {
      request();
      const auto taken = take(*feed, -1);
      const auto index = torch::tensor(rows_of(batch));
      ASSERT_EQ(taken.size(), 2U);
      EXPECT_TRUE(torch::equal(taken[0], images_.index_select(0, index)));
      EXPECT_TRUE(torch::equal(taken[1], index));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(taken[1].data_ptr()) % 64, 0U);
    }
    EXPECT_THROW(take(*feed, -1), Error);
  }
}

TEST_P(FileFeeds, AMissingRowFailsOnlyItsBatch) {
  auto feed = this->feed(2, 2);
  std::filesystem::resize_file(labels_path_, 50 * 8 + 3);
  const std::vector<std::vector<int64_t>> batches = {{1, 2},   {3, 50},  {90, 4}, {49, 5},
                                                     {50, 51}, {99, 99}, {6, 7},  {8, 9}};
  size_t requested = 0;
  const auto request = [&] {
    if (requested < batches.size()) {
      feed->request(0, batches[requested++].data(), 2);
    }
  };
  request();
  request();
  feed->start();
  std::vector<int64_t> failed;
  for (const auto& rows : batches) {
    request();
    try {
      EXPECT_TRUE(torch::equal(take(*feed, -1)[1], torch::tensor(rows)));
      failed.push_back(-1);
      EXPECT_EQ(feed->unreadable_row(), -1);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnreadable);
      EXPECT_NE(std::string(error.what()).find("labels: row"), std::string::npos) << error.what();
      failed.push_back(feed->unreadable_row());
    }
  }
  EXPECT_EQ(failed, (std::vector<int64_t>{-1, 50, 90, -1, 50, 99, -1, -1}));
}

TEST_P(FileFeeds, CanBeAbandonedAtAnyTime) {
  auto feed = this->feed(4, 4);
  const std::vector<int64_t> rows = {5, 17, 7, 8};
  for (size_t epoch = 0; epoch < 500; ++epoch) {
    ASSERT_TRUE(feed->rewind());
    for (int i = 0; i < 4; ++i) {
      feed->request(0, rows.data(), 4);
    }
    feed->start();
    for (size_t batch = 0; batch < epoch % 5; ++batch) {
      ASSERT_EQ(take(*feed, -1)[1][3].item<int64_t>(), 8);
    }
  }
}

TEST_P(FileFeeds, OutliveTheColumnsTheyWereCreatedFrom) {
  auto rows_of_files = RowSet::of_files(*columns_);
  columns_.reset();
  auto shared = rows_of_files->share();
  rows_of_files.reset();
  auto feed = BatchFeed::create(*shared, 2, GetParam(), 1, true);
  shared.reset();
  const std::vector<int64_t> rows = {99, 98};
  feed->request(0, rows.data(), 2);
  feed->start();
  EXPECT_EQ(take(*feed, -1)[1][0].item<int64_t>(), 99);
}

INSTANTIATE_TEST_SUITE_P(Workers, FileFeeds, ::testing::Values(0, 1, 2, 5));

void expect_failure(const std::string& phrase, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "accepted; expected: " << phrase;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(phrase), std::string::npos) << error.what();
  }
}

TEST(FileColumns, RefusesInvalidColumnsAndFiles) {
  const RowFiles files;
  const std::string path = files.write("rows", std::vector<int64_t>{1, 2, 3});
  const auto feed = [](const FileColumns& columns, int64_t batch_rows, int64_t prefetch) {
    EXPECT_EQ(BatchFeed::create(*RowSet::of_files(columns), batch_rows, 0, prefetch, true),
              nullptr);
  };
  auto columns = FileColumns::create();
  expect_failure("at least one column", [&] { feed(*columns, 1, 1); });
  expect_failure("a file needs a column", [&] { columns->add_file(path, 0, 8, 3); });
  for (const int64_t dtype : {int64_t{-1}, number_of(at::kQInt8), number_of(at::kBits8),
                              number_of(at::ScalarType::Undefined), int64_t{1000}}) {
    expect_failure("dtype must be one of a dense tensor",
                   [&] { columns->add_column(dtype, nullptr, 0, 1); });
  }
  const std::vector<int64_t> sizes = {int64_t{1} << 40, int64_t{1} << 40, -1};
  expect_failure("got 1099511627776",
                 [&] { columns->add_column(number_of(at::kLong), sizes.data(), 2, 1); });
  expect_failure("got -1",
                 [&] { columns->add_column(number_of(at::kLong), sizes.data() + 2, 1, 1); });
  columns->add_column(number_of(at::kLong), nullptr, 0, 1);
  columns->add_file(path, 0, 8, 3);
  columns->add_column(number_of(at::kLong), nullptr, 0, 1);
  columns->add_file(path, 0, 8, 2);
  expect_failure("column 1 must have as many rows as column 0 (3), got 2",
                 [&] { feed(*columns, 1, 1); });
  columns->add_file(path, 16, 8, 1);
  expect_failure("prefetch must be at least 1", [&] { feed(*columns, 1, 0); });
  expect_failure("OUT_OF_MEMORY|a batch of",
                 [&] { feed(*columns, std::numeric_limits<int64_t>::max(), 1); });
}

}  // namespace
}  // namespace torchfeed
