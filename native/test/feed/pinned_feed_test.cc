// SPDX-License-Identifier: Apache-2.0
// Feeds in page-locked memory whose batches the consumer copies to a device itself.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "device/transfers.h"
#include "feed/feed_batches.h"
#include "torchfeed/batch_feed.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

using testing::kDevice;

constexpr int64_t kRows = 4;
constexpr int64_t kBatches = 24;
constexpr int64_t kPatienceMs = 20'000;

class PinnedFeeds : public ::testing::TestWithParam<int64_t> {
 protected:
  PinnedFeeds() { fake::track_copies(true); }
  ~PinnedFeeds() override {
    fake::run_all();
    fake::track_copies(false);
    EXPECT_EQ(fake::host_blocks(), 0);
    EXPECT_EQ(live_objects(), 0);
  }
};

TEST_P(PinnedFeeds, ACopyThatTheConsumerQueuedSeesItsOwnBatch) {
  const at::Tensor data = torch::arange(kRows * kBatches, torch::kInt64);
  std::vector<at::Tensor> copies;
  {
    auto feed = BatchFeed::create(*RowSet::of_tensors({data}), kRows, GetParam(), 2, true);
    feed->pin_for(kDevice, true);
    ASSERT_TRUE(feed->rewind());
    std::vector<int64_t> rows(kRows);
    for (int64_t number = 0; number < kBatches; ++number) {
      std::iota(rows.begin(), rows.end(), number * kRows);
      feed->request(number, rows.data(), kRows);
      if (number == 0) {
        feed->start();
      }
      const TakenBatch taken = take_batch(*feed, kPatienceMs);
      EXPECT_EQ(taken.info[BatchFeed::kFreshSlabs], 0);  // libtorch's allocator keeps the memory
      copies.push_back(taken.columns[0].to(kDevice, /*non_blocking=*/true));
    }
    EXPECT_GT(pinned_bytes(), 0);
  }
  fake::run_all();
  EXPECT_EQ(pinned_bytes(), 0);
  for (int64_t number = 0; number < kBatches; ++number) {
    const at::Tensor copied = copies[static_cast<size_t>(number)].cpu();
    EXPECT_TRUE(copied.equal(data.narrow(0, number * kRows, kRows))) << copied;
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, PinnedFeeds, ::testing::Values(0, 1, 3));

}  // namespace
}  // namespace torchfeed
