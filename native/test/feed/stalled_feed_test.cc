// SPDX-License-Identifier: Apache-2.0
// A feed whose worker is blocked in a system call, such as a read from a file server that is down.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <torch/types.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "feed/feed_batches.h"
#include "feed/row_files.h"
#include "torchfeed/batch_feed.h"
#include "torchfeed/error.h"
#include "torchfeed/runtime.h"

namespace {

/// A gate that blocks reads at one position of any file.
class Gate {
 public:
  void pass(off_t position) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (position == shut_at_) {
      stalled_ = true;
      changed_.notify_all();
      changed_.wait(lock, [&] { return position != shut_at_; });
      stalled_ = false;
    }
  }
  void shut(off_t position) { set(position); }
  void open() { set(std::nullopt); }
  void await_stalled_read() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return stalled_; });
  }

 private:
  void set(std::optional<off_t> position) {
    const std::lock_guard<std::mutex> lock(mutex_);
    shut_at_ = position;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<off_t> shut_at_;
  bool stalled_ = false;
};

Gate gate;

}  // namespace

/// These take precedence over the C library's functions, also for the library under test.
extern "C" __attribute__((visibility("default"))) ssize_t preadv2(int file, const iovec* parts,
                                                                  int count, off_t position,
                                                                  int flags) {
  gate.pass(position);
  using Read = ssize_t (*)(int, const iovec*, int, off_t, int);
  static const auto read = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "preadv2"));
  return read(file, parts, count, position, flags);
}

/// The call where the system cannot say which parts of a file are in memory.
extern "C" __attribute__((visibility("default"))) ssize_t pread(int file, void* target,
                                                                std::size_t bytes, off_t position) {
  gate.pass(position);
  using Read = ssize_t (*)(int, void*, std::size_t, off_t);
  static const auto read = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "pread"));
  return read(file, target, bytes, position);
}

namespace torchfeed {
namespace {

constexpr int64_t kForEver = -1;
constexpr int64_t kRows = 64;

class StalledFeeds : public testing::Test {
 protected:
  StalledFeeds() : columns_(FileColumns::create()) {
    std::vector<int64_t> labels(kRows);
    std::iota(labels.begin(), labels.end(), 0);
    columns_->add_column(static_cast<int64_t>(at::kLong), nullptr, 0, 1);
    columns_->add_file(files_.write("labels", labels), 0, 8, kRows);
  }

  ~StalledFeeds() override {
    gate.open();
    columns_.reset();
    while (live_objects() > 0) {  // until abandoned feeds are freed
      std::this_thread::yield();
    }
    while (open_files() > opened_before_) {
      std::this_thread::yield();
    }
  }

  [[nodiscard]] std::unique_ptr<BatchFeed> feed(int64_t workers, int64_t prefetch,
                                                bool in_order) const {
    return BatchFeed::create(*RowSet::of_files(*columns_), 1, workers, prefetch, in_order);
  }

  static void request(BatchFeed& feed, int64_t from, int64_t to) {
    for (int64_t batch = from; batch < to; ++batch) {
      feed.request(batch, &batch, 1);
    }
  }

  static int64_t taken(BatchFeed& feed) { return take(feed, kForEver)[0][0].item<int64_t>(); }

  const int64_t opened_before_ = open_files();
  const RowFiles files_;
  std::unique_ptr<FileColumns> columns_;
};

TEST_F(StalledFeeds, ATakeThatTimedOutCanBeRepeatedAndLosesNothing) {
  for (const bool in_order : {true, false}) {
    auto feed = this->feed(1, 3, in_order);
    gate.shut(8);  // row 1
    request(*feed, 0, 3);
    feed->start();
    EXPECT_EQ(taken(*feed), 0);
    request(*feed, 3, 4);
    gate.await_stalled_read();
    for (int i = 0; i < 3; ++i) {
      try {
        take(*feed, 1);
        FAIL() << "the read was not blocked";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kTimeout);
        const std::string what = error.what();
        EXPECT_NE(
            what.find("0 of 1 workers idle, 0 later batches ready; batch 1 has been in progress"),
            std::string::npos)
            << what;
      }
    }
    gate.open();
    EXPECT_EQ(taken(*feed), 1);
    EXPECT_EQ(taken(*feed), 2);
    EXPECT_EQ(taken(*feed), 3);
  }
}

TEST_F(StalledFeeds, LaterBatchesOvertakeABlockedOneOnlyOutOfOrder) {
  for (const bool in_order : {true, false}) {
    auto feed = this->feed(2, 4, in_order);
    gate.shut(0);
    request(*feed, 0, 4);
    feed->start();
    gate.await_stalled_read();
    std::vector<int64_t> order;
    if (in_order) {
      EXPECT_THROW(take(*feed, 1), Error);
      gate.open();
    } else {
      for (int i = 0; i < 3; ++i) {
        const TakenBatch batch = take_batch(*feed, kForEver);
        order.push_back(batch.info[BatchFeed::kBatch]);
        EXPECT_EQ(batch.columns[0][0].item<int64_t>(), order.back());
      }
      EXPECT_THROW(take(*feed, 1), Error);
      gate.open();
    }
    while (order.size() < 4) {
      order.push_back(taken(*feed));
    }
    EXPECT_EQ(order,
              in_order ? (std::vector<int64_t>{0, 1, 2, 3}) : (std::vector<int64_t>{1, 2, 3, 0}));
  }
}

TEST_F(StalledFeeds, AnInterruptEndsATakeWhileItsWorkerIsBlocked) {
  auto feed = this->feed(1, 2, true);
  gate.shut(0);
  request(*feed, 0, 2);
  feed->start();
  gate.await_stalled_read();
  std::thread other([&] { feed->interrupt(); });
  EXPECT_THROW(take(*feed, kForEver), Error);
  other.join();
  EXPECT_FALSE(feed->rewind());
  gate.open();
}

TEST_F(StalledFeeds, AreAbandonedWithEverythingTheyUse) {
  auto feed = this->feed(2, 2, true);
  gate.shut(0);
  request(*feed, 0, 2);
  feed->start();
  gate.await_stalled_read();
  EXPECT_FALSE(feed->rewind());
  feed.reset();
  EXPECT_EQ(live_objects(), 2);  // the columns, and the feed that the worker may still write to
  columns_.reset();
  EXPECT_EQ(open_files(), opened_before_ + 1);
}  // the destructor checks that nothing is left once the worker returns

TEST_F(StalledFeeds, CanBeReusedIfTheWorkerReturnsInTime) {
  auto feed = this->feed(2, 2, true);
  for (int pass = 0; pass < 3; ++pass) {
    gate.shut(0);
    request(*feed, 0, 2);
    feed->start();
    gate.await_stalled_read();
    feed->interrupt();
    gate.open();
    ASSERT_TRUE(feed->rewind());
    request(*feed, 0, 2);
    feed->start();
    EXPECT_EQ(taken(*feed), 0);
    EXPECT_EQ(taken(*feed), 1);
    ASSERT_TRUE(feed->rewind());
  }
}

}  // namespace
}  // namespace torchfeed
