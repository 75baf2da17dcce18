// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/device_transfer.h"

#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "device/fake_device.h"
#include "device/transfers.h"
#include "torchfeed/error.h"
#include "torchfeed/runtime.h"
#include "torchfeed/slab.h"

namespace torchfeed {
namespace {

using testing::batch;
using testing::Bytes;
using testing::bytes_of;
using testing::expect_refused;
using testing::kDevice;
using testing::Reading;
using testing::Transfers;

TEST_F(Transfers, TheComputationWaitsForTheCopy) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const auto host = batch(7);
  const auto device = transfer->receive(transfer->send(host));
  ASSERT_EQ(device.size(), 2U);
  EXPECT_EQ(device[0].device(), c10::Device(kDevice));
  EXPECT_EQ(device[0].sizes(), host[0].sizes());
  EXPECT_EQ(device[1].scalar_type(), at::kLong);
  const Reading floats = fake::read_later(device[0]);
  const Reading longs = fake::read_later(device[1]);
  fake::run(compute());
  EXPECT_TRUE(floats->empty());  // the stream is still waiting
  run_copies();
  fake::run(compute());
  EXPECT_EQ(*floats, bytes_of(host[0]));
  EXPECT_EQ(*longs, bytes_of(host[1]));
}

TEST_F(Transfers, TheCopyWaitsForTheLastUseOfItsSlot) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const auto first = batch(1);
  int64_t sent = transfer->send(first);
  run_copies();
  const Reading reading = fake::read_later(transfer->receive(sent)[0]);
  transfer->release(sent);
  sent = transfer->send(batch(2));
  run_copies();
  transfer->release(sent);
  transfer->send(batch(3));
  run_copies();
  EXPECT_EQ(transfer->copying(), 1);
  fake::run(compute());
  EXPECT_EQ(*reading, bytes_of(first[0]));
  run_copies();
  EXPECT_EQ(transfer->copying(), 0);
}

TEST_F(Transfers, TheNextCopyDoesNotWaitForTheComputation) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const auto first = batch(1);
  const Reading reading = fake::read_later(transfer->receive(transfer->send(first))[0]);
  run_copies();
  transfer->send(batch(2));
  run_copies();
  EXPECT_EQ(transfer->copying(), 0);  // although the computation has not begun
  EXPECT_TRUE(reading->empty());
  fake::run(compute());
  EXPECT_EQ(*reading, bytes_of(first[0]));
}

TEST_F(Transfers, HoldsAHostTensorUntilItsCopyCompletes) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const auto slab = Slab::create_pinned({at::empty({0, 16}, at::kByte)}, 4, kDevice);
  std::memset(slab->data(), 5, 64);
  const int64_t sent = transfer->send({slab->view(0, 4)});
  EXPECT_FALSE(slab->is_free());
  EXPECT_EQ(transfer->copying(), 1);
  run_copies();
  EXPECT_EQ(transfer->copying(), 0);
  EXPECT_TRUE(slab->is_free());
  std::memset(slab->data(), fake::kPoison, 64);
  const Reading reading = fake::read_later(transfer->receive(sent)[0]);
  fake::run(compute());
  EXPECT_EQ(*reading, Bytes(64, 5));
}

TEST_F(Transfers, AKeptTensorLeavesTheRing) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  std::vector<std::pair<at::Tensor, at::Tensor>> kept;
  for (int64_t i = 0; i < 6; ++i) {
    const auto host = batch(i);
    const int64_t sent = transfer->send(host);
    kept.emplace_back(transfer->receive(sent)[0], host[0]);
    transfer->release(sent);
    fake::run_all();
  }
  for (const auto& [device, host] : kept) {
    const Reading reading = fake::read_later(device);
    fake::run(compute());
    EXPECT_EQ(*reading, bytes_of(host));
  }
}

TEST_F(Transfers, WorkOnAKeptTensorIsSafeUntilItEnds) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const auto first = batch(1);
  const int64_t sent = transfer->send(first);
  at::Tensor kept = transfer->receive(sent)[0];
  run_copies();
  transfer->release(sent);
  transfer->release(transfer->send(batch(2)));
  const Reading reading = fake::read_later(kept);
  kept.reset();
  run_copies();
  transfer->send(batch(3));  // into the slot of the first batch
  run_copies();
  fake::run(compute());
  EXPECT_EQ(*reading, bytes_of(first[0]));
}

TEST_F(Transfers, TheConsumerMayReleaseABatchOnAnotherStream) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const auto first = batch(1);
  const int64_t sent = transfer->send(first);
  run_copies();
  const Reading reading = fake::read_later(transfer->receive(sent)[0]);
  std::thread([&] {
    const c10::StreamGuard elsewhere(fake::new_stream(0));
    transfer->release(sent);
  }).join();
  transfer->release(transfer->send(batch(2)));
  run_copies();
  transfer->send(batch(3));
  run_copies();
  fake::run(compute());
  EXPECT_EQ(*reading, bytes_of(first[0]));
}

TEST_F(Transfers, TheCopyWaitsForTheStreamThatReleasedTheBatch) {
  const auto run_others = [](const c10::Stream& waiting) {
    for (const auto& stream : fake::busy_streams(waiting)) {
      fake::run(stream);
    }
  };
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const auto first = batch(1);
  const int64_t sent = transfer->send(first);
  at::Tensor tensor = transfer->receive(sent)[0];
  fake::run_all();
  const c10::Stream elsewhere = fake::new_stream(0);
  Reading reading;
  {
    const c10::StreamGuard guard(elsewhere);
    reading = fake::read_later(tensor);
    tensor.reset();
    transfer->release(sent);
  }
  transfer->release(transfer->send(batch(2)));
  run_others(elsewhere);
  transfer->send(batch(3));
  run_others(elsewhere);
  EXPECT_EQ(transfer->copying(), 1);
  fake::run(elsewhere);
  EXPECT_EQ(*reading, bytes_of(first[0]));
  run_copies();
}

TEST_F(Transfers, TheMemoryOfAClosedTransferIsSafeUntilItsLastUse) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const auto host = batch(1);
  const int64_t sent = transfer->send(host);
  run_copies();
  const Reading reading = fake::read_later(transfer->receive(sent)[1]);
  transfer->release(sent);
  transfer.reset();
  run_copies();
  EXPECT_TRUE(reading->empty());
  fake::run(compute());
  EXPECT_EQ(*reading, bytes_of(host[1]));
}

TEST_F(Transfers, ClosingWithCopiesInFlightKeepsTheirSources) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  auto slab = Slab::create_pinned({at::empty({0, 16}, at::kByte)}, 4, kDevice);
  std::memset(slab->data(), 9, 64);
  const int64_t sent = transfer->send({slab->view(0, 4)});
  at::Tensor device = transfer->receive(sent)[0];
  const Reading reading = fake::read_later(device);
  slab.reset();
  transfer.reset();  // waits until its limit, since nothing executes the copy
  EXPECT_EQ(fake::host_blocks(), 1);
  fake::run_all();
  EXPECT_EQ(*reading, Bytes(64, 9));
  static_cast<void>(DeviceTransfer::create(kDevice, 2));
  EXPECT_EQ(fake::host_blocks(), 0);
}

TEST_F(Transfers, ACopyThatFailsIsAnErrorAndLeavesTheTransferUsable) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  auto slab =
      Slab::create_pinned({at::empty({0, 4}, at::kByte), at::empty({0}, at::kLong)}, 4, kDevice);
  fake::fail_after(1);
  expect_refused(ErrorCode::kInternal, "the fake device failed",
                 [&] { transfer->send({slab->view(1, 4), slab->view(0, 4)}); });
  fake::fail_after(-1);
  EXPECT_EQ(transfer->copying(), 1);  // the first tensor is on its way
  EXPECT_FALSE(slab->is_free());
  run_copies();
  EXPECT_EQ(transfer->copying(), 0);
  EXPECT_TRUE(slab->is_free());
  for (int64_t i = 0; i < 4; ++i) {
    const auto host = batch(i);
    const int64_t sent = transfer->send(host);
    const Reading reading = fake::read_later(transfer->receive(sent)[0]);
    transfer->release(sent);
    fake::run_all();
    EXPECT_EQ(*reading, bytes_of(host[0]));
  }
}

TEST_F(Transfers, TheColumnsOfASlabAreOneCopy) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const std::vector<at::Tensor> prototypes = {
      at::empty({0, 5}, at::kByte), at::empty({0}, at::kLong), at::empty({0, 2}, at::kFloat)};
  const auto slab = Slab::create_pinned(prototypes, 4, kDevice);
  for (int64_t i = 0; i < slab->bytes(); ++i) {
    slab->data()[i] = static_cast<uint8_t>(i);
  }
  fake::fail_after(1);
  const std::vector<at::Tensor> host = {slab->view(0, 3), slab->view(1, 3), slab->view(2, 3)};
  const int64_t sent = transfer->send(host);
  fake::fail_after(-1);
  const auto device = transfer->receive(sent);
  ASSERT_EQ(device.size(), host.size());
  for (size_t i = 0; i < host.size(); ++i) {
    EXPECT_EQ(device[i].sizes(), host[i].sizes());
    EXPECT_EQ(device[i].scalar_type(), host[i].scalar_type());
    const Reading reading = fake::read_later(device[i]);
    fake::run_all();
    EXPECT_EQ(*reading, bytes_of(host[i])) << "column " << i;
  }
}

TEST_F(Transfers, TensorsOfOneMemoryThatAreNotSideBySideArriveToo) {
  const at::Tensor numbers = torch::arange(3000, torch::kInt64);
  const std::vector<std::vector<at::Tensor>> batches = {
      {numbers.narrow(0, 0, 8), numbers.narrow(0, 4, 8)},      // overlap
      {numbers.narrow(0, 64, 8), numbers.narrow(0, 0, 8)},     // in another order
      {numbers.narrow(0, 0, 3), numbers.narrow(0, 3, 8)},      // not aligned
      {numbers.narrow(0, 0, 8), numbers.narrow(0, 2000, 8)},   // far from each other
      {numbers.narrow(0, 0, 0), numbers.narrow(0, 8, 8)},      // without elements
      {numbers.narrow(0, 0, 8), numbers.narrow(0, 8, 8) + 1},  // in other memory
      {numbers.narrow(0, 8, 8), numbers.narrow(0, 16, 5)}};
  auto transfer = DeviceTransfer::create(kDevice, 2);
  for (const auto& host : batches) {
    const int64_t sent = transfer->send(host);
    const auto device = transfer->receive(sent);
    const Reading first = fake::read_later(device[0]);
    const Reading second = fake::read_later(device[1]);
    fake::run_all();
    EXPECT_EQ(*first, bytes_of(host[0]));
    EXPECT_EQ(*second, bytes_of(host[1]));
    transfer->release(sent);
  }
}

TEST_F(Transfers, TheRowsThatASmallerBatchLacksAreNotCopied) {
  constexpr int64_t kBytes = 8192;
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const auto slab = Slab::create_pinned(
      {at::empty({0, kBytes}, at::kByte), at::empty({0}, at::kLong)}, 4, kDevice);
  transfer->send({slab->view(0, 1), slab->view(1, 1)});
  fake::run_all();
  transfer->copying();
  std::array<int64_t, DeviceTransfer::kTimeCount> times{};
  transfer->times(times.data());
  EXPECT_EQ(times[DeviceTransfer::kCopyingNanos],
            8 * (kBytes + static_cast<int64_t>(sizeof(int64_t))));
}

using Times = std::array<int64_t, DeviceTransfer::kTimeCount>;

/// Returns the times of a transfer after all copies have been executed.
Times times_of(DeviceTransfer& transfer) {
  transfer.copying();
  Times times{};
  transfer.times(times.data());
  return times;
}

TEST_F(Transfers, TheTimeOfCopiesIsTheDevicesAndWithoutItsWaits) {
  constexpr int64_t kBytes = int64_t{4} << 20;  // the clock of the fake device: 1 ns per byte
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const at::Tensor host = at::zeros({kBytes}, at::kByte);
  const int64_t first = transfer->send({host});
  EXPECT_EQ(times_of(*transfer)[DeviceTransfer::kCopyingNanos], 0);  // not over
  const at::Tensor received = transfer->receive(first)[0];
  const at::Tensor others = at::zeros({3 * kBytes}, at::kByte);
  at::empty({3 * kBytes}, received.options()).copy_(others, /*non_blocking=*/true);
  transfer->release(first);
  transfer->release(transfer->send({host}));
  fake::run_all();
  transfer->send({host});  // waits for the consumer's copy
  fake::run_all();
  EXPECT_EQ(times_of(*transfer)[DeviceTransfer::kCopyingNanos], 3 * kBytes);
  EXPECT_EQ(times_of(*transfer)[DeviceTransfer::kCopyingNanos], 3 * kBytes);  // counted once
}

TEST_F(Transfers, OneOfEightSmallBatchesIsTimedAndStandsForThem) {
  constexpr int64_t kBytes = 8 * (3 * sizeof(float) + sizeof(int64_t));
  auto transfer = DeviceTransfer::create(kDevice, 2);
  for (int64_t number = 0; number < 17; ++number) {
    transfer->release(transfer->send(batch(number)));
    fake::run_all();
    EXPECT_EQ(times_of(*transfer)[DeviceTransfer::kCopyingNanos], (number / 8 + 1) * 8 * kBytes);
  }
}

TEST_F(Transfers, TheWaitForASlotIsTimed) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  transfer->release(transfer->send(batch(1)));
  transfer->release(transfer->send(batch(2)));
  const int64_t before = times_of(*transfer)[DeviceTransfer::kWaitingNanos];
  std::thread device([] { fake::run_all(); });
  transfer->send(batch(3));
  device.join();
  fake::run_all();
  EXPECT_GT(times_of(*transfer)[DeviceTransfer::kWaitingNanos], before);
}

TEST_F(Transfers, TwoDevicesWorkIndependently) {
  auto zero = DeviceTransfer::create(kDevice, 2);
  auto one = DeviceTransfer::create("privateuseone:1", 2);
  EXPECT_EQ(zero->device(), kDevice);
  EXPECT_EQ(one->device(), "privateuseone:1");
  const auto hosts = std::make_pair(batch(1), batch(2));
  const auto on_zero = zero->receive(zero->send(hosts.first));
  const auto on_one = one->receive(one->send(hosts.second));
  EXPECT_EQ(on_one[0].device().index(), 1);
  const Reading from_zero = fake::read_later(on_zero[0]);
  const Reading from_one = fake::read_later(on_one[0]);
  EXPECT_GT(fake::queued(0), 0);
  EXPECT_GT(fake::queued(1), 0);
  fake::run_all();
  EXPECT_EQ(*from_zero, bytes_of(hosts.first[0]));
  EXPECT_EQ(*from_one, bytes_of(hosts.second[0]));
}

}  // namespace
}  // namespace torchfeed
