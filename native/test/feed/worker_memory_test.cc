// SPDX-License-Identifier: Apache-2.0
// Workers that run out of memory at each of their allocations in turn.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "feed/feed_batches.h"
#include "torchfeed/batch_feed.h"
#include "torchfeed/error.h"

namespace {

std::atomic<std::thread::id> consumer;
std::atomic<int64_t> left{-1};  // allocations of other threads until one fails; negative: never
std::atomic<int64_t> failed{0};

bool fails() {
  if (left.load(std::memory_order_relaxed) < 0 || std::this_thread::get_id() == consumer.load()) {
    return false;
  }
  if (left.fetch_sub(1) == 0) {
    ++failed;
    return true;
  }
  return false;
}

void* allocate_or_null(std::size_t bytes) noexcept {
  return fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}

void* allocate(std::size_t bytes) {
  void* const memory = allocate_or_null(bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocate_or_null(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocate_or_null(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace torchfeed {
namespace {

constexpr int64_t kTimeoutMs = 20'000;  // only a hang takes this long
constexpr int64_t kBatches = 6;

/// Reads a pass; returns the number of batches that arrived. The others fail with a typed error.
int64_t read_pass(BatchFeed& feed) {
  EXPECT_TRUE(feed.rewind());
  int64_t requested = 0;
  const auto request = [&] {
    if (requested < kBatches) {
      const std::vector<int64_t> rows = {requested, requested + 1};
      feed.request(requested++, rows.data(), 2);
    }
  };
  request();
  request();
  feed.start();
  int64_t came = 0;
  for (int64_t taken = 0; taken < kBatches; ++taken) {
    request();
    try {
      const TakenBatch batch = take_batch(feed, kTimeoutMs);
      EXPECT_EQ(batch.columns[0][0].item<int64_t>(), batch.info[BatchFeed::kBatch]);
      ++came;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kTimeout) << error.what();
    }
  }
  return came;
}

class WorkerMemory : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(InOrderOrNot, WorkerMemory, testing::Bool());

TEST_P(WorkerMemory, AFailedAllocationCostsABatchAndTheNextPassWorks) {
  consumer = std::this_thread::get_id();
  const auto data = at::arange(kBatches + 1, at::kLong);
  auto feed = BatchFeed::create(*RowSet::of_tensors({data}), 2, 2, 2, GetParam());
  ASSERT_EQ(read_pass(*feed), kBatches);
  bool reached = true;
  for (int64_t at = 0; reached; ++at) {
    const int64_t before = failed;
    left = at;
    const int64_t came = read_pass(*feed);
    left = -1;
    reached = failed > before;
    if (reached && GetParam()) {
      EXPECT_GE(came, kBatches - 1) << "allocation " << at;
    }
    EXPECT_EQ(read_pass(*feed), kBatches) << "after allocation " << at;
  }
  EXPECT_GT(failed, 5);
}

}  // namespace
}  // namespace torchfeed
