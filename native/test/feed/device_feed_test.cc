// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/device_feed.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/transfers.h"
#include "torchfeed/row_set.h"

namespace torchfeed::testing {
namespace {

using Indices = std::vector<int64_t>;

constexpr int64_t kRows = 40;

/// The first column is gathered by the device, the second by the calling thread.
std::vector<at::Tensor> columns() {
  const at::Tensor numbers = torch::arange(kRows, torch::kInt64);
  return {numbers.view({kRows, 1, 1}).expand({kRows, 4, 64}).to(torch::kInt).contiguous(),
          numbers * 1000};
}

class DeviceFeeds : public Transfers {
 protected:
  static std::unique_ptr<DeviceFeed> feed(int64_t slots = 2) {
    return DeviceFeed::create(*RowSet::of_tensors(columns()), kDevice, slots);
  }

  static int64_t send(DeviceFeed& feed, const Indices& indices) {
    return feed.send(indices.data(), static_cast<int64_t>(indices.size()));
  }

  static std::vector<Reading> read(DeviceFeed& feed, int64_t batch) {
    std::vector<Reading> readings;
    for (const at::Tensor& tensor : feed.receive(batch)) {
      readings.push_back(fake::read_later(tensor));
    }
    return readings;
  }

  static void expect_rows(const std::vector<Reading>& readings, const Indices& indices) {
    const at::Tensor wanted = torch::tensor(indices);
    ASSERT_EQ(readings.size(), 2);
    for (size_t i = 0; i < readings.size(); ++i) {
      EXPECT_EQ(*readings[i], bytes_of(columns()[i].index_select(0, wanted))) << "column " << i;
    }
  }
};

TEST_F(DeviceFeeds, TheDeviceGathersTheRows) {
  const Indices indices = {39, 0, 7, 7, 20};
  const auto rows = feed();
  const auto tensors = rows->receive(send(*rows, indices));
  EXPECT_EQ(tensors[0].sizes(), (at::IntArrayRef{5, 4, 64}));
  EXPECT_EQ(tensors[0].scalar_type(), torch::kInt);
  EXPECT_EQ(tensors[1].sizes(), (at::IntArrayRef{5}));
  EXPECT_EQ(tensors[1].scalar_type(), torch::kInt64);
  EXPECT_TRUE(tensors[0].is_privateuseone());
  std::vector<Reading> readings = {fake::read_later(tensors[0]), fake::read_later(tensors[1])};
  fake::run_all();
  expect_rows(readings, indices);
}

TEST_F(DeviceFeeds, BatchesOfAllSizesFollowEachOtherThroughFewSlots) {
  const auto rows = feed();
  std::vector<std::vector<Reading>> readings;
  std::vector<Indices> sent;
  int64_t ahead = -1;
  for (int64_t i = 0; i < 12; ++i) {
    Indices indices;
    for (int64_t k = 0; k <= i % 5; ++k) {
      indices.push_back((7 * i + k) % kRows);
    }
    sent.push_back(indices);
    const int64_t next = send(*rows, indices);
    if (ahead >= 0) {
      rows->release(ahead);
    }
    readings.push_back(read(*rows, next));
    fake::run_all();
    ahead = next;
  }
  fake::run_all();
  for (size_t i = 0; i < sent.size(); ++i) {
    expect_rows(readings[i], sent[i]);
  }
}

TEST_F(DeviceFeeds, PageLockedMemoryIsKeptFromBatchToBatch) {
  const auto rows = feed();
  int64_t blocks = 0;
  for (int64_t i = 0; i < 20; ++i) {
    rows->release(send(*rows, {i, i + 1}));
    fake::run_all();
    if (i < 3) {
      blocks = fake::host_blocks();
    }
    EXPECT_EQ(fake::host_blocks(), blocks);
  }
  EXPECT_LE(blocks, 3);
}

TEST_F(DeviceFeeds, RowsStayUntilTheDeviceHasReadThem) {
  at::Tensor host = columns()[0];
  const auto* data = static_cast<const uint8_t*>(host.const_data_ptr());
  std::weak_ptr<int> alive;
  std::vector<Reading> readings;
  {
    auto life = std::make_shared<int>(0);
    alive = life;
    const at::Tensor kept = torch::from_blob(
        const_cast<uint8_t*>(data), host.sizes(), [life, host](void*) {}, torch::kInt);
    life.reset();
    auto rows = DeviceFeed::create(*RowSet::of_tensors({kept, columns()[1]}), kDevice, 2);
    readings = read(*rows, send(*rows, {3, 4}));
  }
  EXPECT_FALSE(alive.expired());
  fake::run_all();
  static_cast<void>(DeviceTransfer::create(kDevice, 2));  // sweeps abandoned slots
  EXPECT_TRUE(alive.expired());
  expect_rows(readings, {3, 4});
}

TEST_F(DeviceFeeds, WrongRowsAndIndicesAreRefused) {
  const auto set = RowSet::of_tensors(columns());
  const Indices some = {1, 2};
  for (const auto& other : {set->subset(some.data(), 2), set->concat(*set)}) {
    expect_refused(ErrorCode::kInvalidArgument, "gathers only rows of tensors in memory",
                   [&] { static_cast<void>(DeviceFeed::create(*other, kDevice, 2)); });
  }
  expect_refused(ErrorCode::kInvalidArgument, "device cpu",
                 [&] { static_cast<void>(DeviceFeed::create(*set, "cpu", 2)); });
  const auto rows = feed();
  expect_refused(ErrorCode::kInvalidArgument, "indices must be in [0, 40), got 40",
                 [&] { send(*rows, {0, kRows}); });
  expect_refused(ErrorCode::kIllegalState, "is not on the device", [&] { rows->receive(0); });
}

TEST_F(DeviceFeeds, AFailedBatchLeavesTheFeedUsable) {
  const auto rows = feed();
  for (const int64_t copies : {0, 1}) {
    fake::fail_after(copies);
    EXPECT_ANY_THROW(send(*rows, {1, 2, 3}));
    fake::fail_after(-1);
    fake::run_all();
    const int64_t next = send(*rows, {5, 6});
    const std::vector<Reading> readings = read(*rows, next);
    fake::run_all();
    expect_rows(readings, {5, 6});
    rows->rewind();
  }
}

TEST_F(DeviceFeeds, TheTimeOfItsCopiesIsKnown) {
  const auto rows = feed();
  rows->release(send(*rows, {1, 2, 3}));
  fake::run_all();
  rows->release(send(*rows, {1}));  // notices the end of the first
  fake::run_all();
  std::array<int64_t, DeviceFeed::kTimeCount> times{};
  rows->times(times.data());
  // 3 row numbers and 3 rows of 8 bytes, each padded to 64; one batch in eight is timed; the
  // rows that the fake device gathers take no time.
  EXPECT_EQ(times[DeviceFeed::kCopyingNanos], 8 * (64 + 64));
}

TEST_F(DeviceFeeds, AnInterruptEndsSendingUntilRewind) {
  const auto rows = feed();
  rows->interrupt();
  expect_refused(ErrorCode::kIllegalState, "interrupted", [&] { send(*rows, {1}); });
  rows->rewind();
  rows->release(send(*rows, {1}));
}

}  // namespace
}  // namespace torchfeed::testing
