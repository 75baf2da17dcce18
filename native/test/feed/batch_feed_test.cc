// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/batch_feed.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <chrono>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "feed/feed_batches.h"
#include "feed/row_sets.h"
#include "torchfeed/error.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

using testing::expect_refused;

constexpr int64_t kForEver = -1;

std::unique_ptr<BatchFeed> feed_over(const std::vector<at::Tensor>& columns, int64_t batch_rows,
                                     int64_t workers, int64_t prefetch, bool in_order) {
  return BatchFeed::create(*RowSet::of_tensors(columns), batch_rows, workers, prefetch, in_order);
}

std::vector<at::Tensor> columns(int64_t rows) {
  return {torch::arange(rows * 6, torch::kFloat32).view({rows, 2, 3}),
          torch::arange(rows, torch::kInt64)};
}

class Feeds : public ::testing::TestWithParam<int64_t> {
 protected:
  ~Feeds() override { EXPECT_EQ(live_objects(), 0); }
};

TEST_P(Feeds, DeliversTheRequestedRowsInOrder) {
  const auto data = columns(100);
  auto feed = feed_over(data, 8, GetParam(), 3, true);
  for (int epoch = 0; epoch < 3; ++epoch) {
    ASSERT_TRUE(feed->rewind());
    std::vector<std::vector<int64_t>> batches;
    for (int64_t b = 0; b < 13; ++b) {
      batches.emplace_back();
      for (int64_t i = 0; i < (b == 12 ? 4 : 8); ++i) {
        batches.back().push_back((b * 37 + i * 11 + epoch) % 100);
      }
    }
    size_t requested = 0;
    const auto request = [&] {
      if (requested < batches.size()) {
        const auto& rows = batches[requested];
        feed->request(static_cast<int64_t>(requested++), rows.data(),
                      static_cast<int64_t>(rows.size()));
      }
    };
    for (int i = 0; i < 3; ++i) {
      request();
    }
    feed->start();
    std::vector<at::Tensor> taken;
    const at::Tensor* place = nullptr;
    for (const auto& rows : batches) {
      request();
      Info info{};
      feed->take(kForEver, taken, info.data());
      const auto index = torch::tensor(rows);
      EXPECT_EQ(info[BatchFeed::kBatch], &rows - batches.data());
      EXPECT_EQ(info[BatchFeed::kRows], static_cast<int64_t>(rows.size()));
      ASSERT_EQ(taken.size(), 2U);
      EXPECT_TRUE(place == nullptr || place == taken.data());
      place = taken.data();
      EXPECT_TRUE(torch::equal(taken[0], data[0].index_select(0, index)));
      EXPECT_TRUE(torch::equal(taken[1], index));
      EXPECT_EQ(info[BatchFeed::kBytes],
                static_cast<int64_t>(taken[0].nbytes() + taken[1].nbytes()));
      EXPECT_GT(info[BatchFeed::kGatherNanos], 0);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(taken[1].data_ptr()) % 64, 0U);
    }
    EXPECT_THROW(take(*feed, kForEver), Error);
  }
}

TEST_P(Feeds, CanBeAbandonedAtAnyTime) {
  const auto data = columns(64);
  auto feed = feed_over(data, 4, GetParam(), 4, true);
  std::mt19937 random(7);
  const std::vector<int64_t> rows = {5, 6, 7, 8};
  for (int epoch = 0; epoch < 2000; ++epoch) {
    ASSERT_TRUE(feed->rewind());
    for (int i = 0; i < 4; ++i) {
      feed->request(0, rows.data(), 4);
    }
    feed->start();
    const auto batches = random() % 5;
    for (size_t b = 0; b < batches; ++b) {
      ASSERT_EQ(take(*feed, kForEver)[1][3].item<int64_t>(), 8);
    }
  }
}

TEST_P(Feeds, NeverOverwritesATensorThatIsStillHeld) {
  auto feed = feed_over(columns(64), 2, GetParam(), 2, true);
  std::vector<at::Tensor> kept;
  for (int64_t b = 0; b < 32; ++b) {
    if (b % 8 == 0) {
      ASSERT_TRUE(feed->rewind());
    }
    const std::vector<int64_t> rows = {b, 63 - b};
    feed->request(0, rows.data(), 2);
    if (b % 8 == 0) {
      feed->start();
    }
    kept.push_back(take(*feed, kForEver)[1]);
  }
  for (int64_t b = 0; b < 32; ++b) {
    EXPECT_EQ(kept[static_cast<size_t>(b)][0].item<int64_t>(), b);
  }
}

TEST_P(Feeds, ReusesSlabsInSteadyState) {
  auto feed = feed_over(columns(64), 2, GetParam(), 2, true);
  const std::vector<int64_t> rows = {1, 2};
  feed->request(0, rows.data(), 2);
  feed->request(0, rows.data(), 2);
  feed->start();
  std::set<void*> slabs;
  for (int b = 0; b < 500; ++b) {
    feed->request(0, rows.data(), 2);
    slabs.insert(take(*feed, kForEver)[0].data_ptr());
  }
  EXPECT_LE(slabs.size(), 3U);  // two prefetched and one held by the consumer
}

TEST_P(Feeds, DeliversEachRequestedBatchOnceInAnyOrder) {
  const auto data = columns(64);
  auto feed = feed_over(data, 2, GetParam(), 4, false);
  for (int epoch = 0; epoch < 50; ++epoch) {
    ASSERT_TRUE(feed->rewind());
    int64_t requested = 0;
    const auto request = [&] {
      if (requested < 20) {
        const std::vector<int64_t> rows = {requested, 63 - requested};
        feed->request(requested++, rows.data(), 2);
      }
    };
    for (int i = 0; i < 4; ++i) {
      request();
    }
    feed->start();
    std::set<int64_t> batches;
    for (int64_t b = 0; b < 20; ++b) {
      request();
      const TakenBatch taken = take_batch(*feed, kForEver);
      const int64_t number = taken.info[BatchFeed::kBatch];
      batches.insert(number);
      EXPECT_EQ(taken.columns[1][0].item<int64_t>(), number);
      EXPECT_EQ(taken.columns[1][1].item<int64_t>(), 63 - number);
    }
    EXPECT_EQ(batches.size(), 20U);
    EXPECT_THROW(take(*feed, kForEver), Error);
  }
}

TEST_P(Feeds, AnInterruptFromAnotherThreadEndsThePass) {
  auto feed = feed_over(columns(64), 2, GetParam(), 2, true);
  const std::vector<int64_t> rows = {1, 2};
  feed->request(0, rows.data(), 2);
  feed->start();
  std::thread other([&] { feed->interrupt(); });
  EXPECT_THROW(
      {
        for (;;) {
          feed->request(0, rows.data(), 2);
          take(*feed, kForEver);
        }
      },
      Error);
  other.join();
}

TEST_P(Feeds, CountsSlabsThatAreAllocated) {
  auto feed = feed_over(columns(64), 2, GetParam(), 2, true);
  const std::vector<int64_t> rows = {1, 2};
  int64_t reused = 0;
  int64_t kept = 0;
  std::vector<at::Tensor> held;
  feed->request(0, rows.data(), 2);
  feed->start();
  for (int b = 0; b < 40; ++b) {
    feed->request(0, rows.data(), 2);
    const TakenBatch taken = take_batch(*feed, kForEver);
    (b < 20 ? reused : kept) += taken.info[BatchFeed::kFreshSlabs];
    if (b >= 20) {
      held.push_back(taken.columns[0]);
    }
  }
  EXPECT_GE(reused, 1);
  EXPECT_LE(reused, 4);  // two prefetched, one held by the consumer, one about to be given back
  EXPECT_GE(reused + kept, 20);
  EXPECT_LE(reused + kept, 24);
}

TEST_P(Feeds, ReportsTheMemoryOfABatch) {
  auto feed = feed_over(columns(64), 3, GetParam(), 2, true);
  EXPECT_EQ(feed->slab_bytes(), 128 + 64);  // three rows of 24 bytes, then three of 8
}

INSTANTIATE_TEST_SUITE_P(Workers, Feeds, ::testing::Values(0, 1, 2, 5));

using Clock = std::chrono::steady_clock;

int64_t nanos_since(Clock::time_point begin) {
  return std::chrono::nanoseconds(Clock::now() - begin).count();
}

TEST(BatchFeed, AWorkerIsHeldWhileABatchWaitsToBeTaken) {
  constexpr std::chrono::milliseconds kPause{20};
  auto feed = feed_over(columns(10), 2, 1, 2, true);
  const std::vector<int64_t> rows = {1, 2};
  const auto request = [&] { feed->request(0, rows.data(), 2); };
  const auto await_ready = [&](int64_t batches) {
    while (feed->ready() < batches) {
      std::this_thread::yield();
    }
  };
  request();
  request();
  feed->start();
  await_ready(2);
  std::this_thread::sleep_for(kPause);
  const Info first = take_batch(*feed, kForEver).info;
  EXPECT_GE(first[BatchFeed::kHeldNanos], std::chrono::nanoseconds(kPause).count());
  EXPECT_LT(first[BatchFeed::kAwaitNanos], first[BatchFeed::kHeldNanos]);
  take(*feed, kForEver);
  std::this_thread::sleep_for(kPause);  // the worker waits for a request
  const Clock::time_point begin = Clock::now();
  request();
  await_ready(1);
  EXPECT_LE(take_batch(*feed, kForEver).info[BatchFeed::kHeldNanos], nanos_since(begin));
}

TEST(BatchFeed, TheWaitForABatchIsTimedOverAllCalls) {
  auto feed = feed_over(columns(10), 2, 1, 2, true);
  const std::vector<int64_t> rows = {1, 2};
  feed->request(0, rows.data(), 2);  // no worker has started
  constexpr int64_t kTimeoutMs = 5;
  EXPECT_THROW(take(*feed, kTimeoutMs), Error);
  EXPECT_THROW(take(*feed, kTimeoutMs), Error);
  feed->start();
  constexpr int64_t kNanosPerMilli = 1'000'000;
  EXPECT_GE(take_batch(*feed, kForEver).info[BatchFeed::kAwaitNanos],
            2 * kTimeoutMs * kNanosPerMilli);
}

TEST(BatchFeed, RefusesArgumentsThatWouldCrashLibtorch) {
  const auto data = columns(10);
  const auto create = [](const std::vector<at::Tensor>& tensors, int64_t batch_rows,
                         int64_t workers, int64_t prefetch) {
    EXPECT_EQ(feed_over(tensors, batch_rows, workers, prefetch, true), nullptr);
  };
  expect_refused("prefetch must be at least 1", [&] { create(data, 1, 1, 0); });
  expect_refused("workers must be at least 0", [&] { create(data, 1, -1, 1); });
  expect_refused("batch_rows must be at least 1", [&] { create(data, 0, 1, 1); });
  expect_refused("at least one column", [&] { create({}, 1, 1, 1); });
  expect_refused("column 1", [&] { create({data[0], at::Tensor()}, 1, 1, 1); });
  expect_refused("column 1", [&] { create({data[0], torch::arange(11)}, 1, 1, 1); });
  expect_refused("column 0", [&] { create({data[0].transpose(1, 2)}, 1, 1, 1); });

  auto feed = feed_over(data, 2, 0, 1, true);
  const std::vector<int64_t> outside = {0, 10};
  const std::vector<int64_t> three = {0, 1, 2};
  expect_refused("indices must be in [0, 10), got 10",
                 [&] { feed->request(0, outside.data(), 2); });
  expect_refused("at most 2 rows, got 3", [&] { feed->request(0, three.data(), 3); });
}

}  // namespace
}  // namespace torchfeed
