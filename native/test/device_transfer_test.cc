// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/device_transfer.h"

#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_device.h"
#include "torchfeed/error.h"
#include "torchfeed/runtime.h"
#include "torchfeed/slab.h"

namespace torchfeed {
namespace {

using Bytes = std::vector<uint8_t>;
using Reading = std::shared_ptr<Bytes>;

constexpr const char* kDevice = "privateuseone:0";

Bytes bytes_of(const at::Tensor& tensor) {
  const auto* data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  return {data, data + tensor.nbytes()};
}

std::vector<at::Tensor> batch(int64_t number, int64_t rows = 8) {
  return {torch::full({rows, 3}, static_cast<float>(number)),
          torch::arange(rows, torch::kInt64) + 1000 * number};
}

class Transfers : public testing::Test {
 protected:
  ~Transfers() override {
    fake::fail_after(-1);
    fake::run_all();
    static_cast<void>(DeviceTransfer::create(kDevice, 2));  // sweeps abandoned slots
    fake::run_all();
    EXPECT_EQ(fake::device_blocks(), 0);
    EXPECT_EQ(fake::host_blocks(), 0);
    EXPECT_EQ(live_objects(), 0);
  }

  static c10::Stream compute() { return fake::current_stream(0); }
  /// Executes the work of all streams but the consumer's.
  static void run_copies() {
    for (const auto& stream : fake::busy_streams(compute())) {
      fake::run(stream);
    }
  }
};

void expect_refused(ErrorCode code, const std::string& phrase, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "accepted; expected: " << phrase;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(phrase), std::string::npos) << error.what();
  }
}

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
                 [&] { transfer->send({slab->view(0, 4), slab->view(1, 4)}); });
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

TEST_F(Transfers, AnInterruptEndsAWaitingSend) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  transfer->release(transfer->send(batch(1)));
  transfer->release(transfer->send(batch(2)));
  std::thread other([&] { transfer->interrupt(); });
  expect_refused(ErrorCode::kIllegalState, "interrupted", [&] { transfer->send(batch(3)); });
  other.join();
  run_copies();
  transfer->rewind();
  transfer->send(batch(4));
  run_copies();
}

TEST_F(Transfers, TheNumberOfUnreleasedBatchesIsLimited) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const int64_t first = transfer->send(batch(1));
  transfer->send(batch(2));
  expect_refused(ErrorCode::kIllegalState, "all 2 slots", [&] { transfer->send(batch(3)); });
  run_copies();
  transfer->release(first);
  transfer->release(first);
  expect_refused(ErrorCode::kIllegalState, "released", [&] { transfer->receive(first); });
  transfer->send(batch(3));
  run_copies();
}

TEST_F(Transfers, TakesTensorsOfAnyShapeAndLayout) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const std::vector<at::Tensor> host = {torch::arange(12, torch::kFloat32).view({3, 4}).t(),
                                        torch::zeros({0, 5}), torch::full({}, 3.0).requires_grad_(),
                                        torch::ones({7}, torch::kBool)};
  const auto device = transfer->receive(transfer->send(host));
  std::vector<Reading> readings;
  for (const auto& tensor : device) {
    EXPECT_FALSE(tensor.requires_grad());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % 64, 0U);
    readings.push_back(fake::read_later(tensor));
  }
  fake::run_all();
  for (size_t i = 0; i < host.size(); ++i) {
    EXPECT_EQ(device[i].sizes(), host[i].sizes());
    EXPECT_EQ(*readings[i], bytes_of(host[i].detach().contiguous()));
  }
}

/// A training loop whose device executes work in random order: each batch must be read as it was
/// sent, although slabs are overwritten as soon as they are free, and memory must not grow.
TEST_F(Transfers, EveryOrderOfExecutionDeliversTheSameBatches) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto step_somewhere = [&random] {
      auto busy = fake::busy_streams(compute());
      busy.push_back(compute());
      fake::step(busy[random() % busy.size()]);
    };
    auto transfer = DeviceTransfer::create(kDevice, 2 + seed % 3);
    std::vector<std::unique_ptr<Slab>> slabs;
    const auto free_slab = [&]() -> Slab& {
      for (auto& slab : slabs) {
        if (slab->is_free()) {
          std::memset(slab->data(), fake::kPoison, static_cast<size_t>(slab->bytes()));
          return *slab;
        }
      }
      slabs.push_back(Slab::create_pinned({at::empty({0}, at::kLong)}, 16, kDevice));
      return *slabs.back();
    };
    const auto send = [&](int64_t number) {
      Slab& slab = free_slab();
      const int64_t rows = 1 + static_cast<int64_t>(random() % 16);
      auto view = slab.view(0, rows);
      view.fill_(number);
      return std::make_pair(transfer->send({view}), Bytes(bytes_of(view)));
    };
    std::vector<std::pair<Reading, Bytes>> checks;
    std::vector<at::Tensor> kept;
    auto ahead = send(0);
    for (int64_t i = 1; i < 60; ++i) {
      const auto current = std::exchange(ahead, {});
      auto tensor = transfer->receive(current.first)[0];
      while (transfer->copying() == static_cast<int64_t>(2 + seed % 3)) {
        step_somewhere();  // the device makes progress where the host would wait
      }
      ahead = send(i);
      checks.emplace_back(fake::read_later(tensor), current.second);
      if (seed % 2 == 1 && random() % 8 == 0) {
        kept.push_back(tensor);
      }
      tensor.reset();
      transfer->release(current.first);
      if (!kept.empty() && random() % 4 == 0) {
        fake::read_later(kept.back());
        kept.pop_back();
      }
      for (size_t steps = random() % 8; steps > 0; --steps) {
        step_somewhere();
      }
    }
    fake::run_all();
    for (const auto& [reading, expected] : checks) {
      ASSERT_EQ(*reading, expected) << "seed " << seed;
    }
    EXPECT_LE(slabs.size(), 6U);
  }
}

TEST_F(Transfers, SteadyStateAllocatesNothing) {
  auto transfer = DeviceTransfer::create(kDevice, 2);
  const int64_t before = fake::device_allocations();
  for (int64_t i = 0; i < 100000; ++i) {
    const int64_t sent = transfer->send({torch::full({4}, i)});
    fake::read_later(transfer->receive(sent)[0]);
    transfer->release(sent);
    fake::run_all();
  }
  EXPECT_LE(fake::device_allocations() - before, 2);
}

TEST_F(Transfers, PinnedSlabsAreCounted) {
  const int64_t before = pinned_bytes();
  auto slab = Slab::create_pinned({at::empty({0, 100}, at::kByte)}, 10, kDevice);
  EXPECT_EQ(pinned_bytes() - before, slab->bytes());
  at::Tensor view = slab->view(0, 1);
  slab.reset();
  EXPECT_GT(pinned_bytes(), before);
  view.reset();
  EXPECT_EQ(pinned_bytes(), before);
}

TEST_F(Transfers, RefusesInvalidDevicesSlotsAndTensors) {
  const auto create = [](const std::string& device, int64_t slots) {
    EXPECT_EQ(DeviceTransfer::create(device, slots), nullptr);
  };
  expect_refused(ErrorCode::kInvalidArgument, "a name like cuda:0, got 'gpu0'",
                 [&] { create("gpu0", 2); });
  expect_refused(ErrorCode::kInvalidArgument, "no transfer", [&] { create("cpu", 2); });
  expect_refused(ErrorCode::kInvalidArgument, "must be in [0, 2)",
                 [&] { create("privateuseone:2", 2); });
  expect_refused(ErrorCode::kIllegalState, "no streams with events", [&] { create("meta", 2); });
  expect_refused(ErrorCode::kInvalidArgument, "slots must be in [2, 1024], got 1",
                 [&] { create(kDevice, 1); });
  if (accelerator_name() == "none") {
    expect_refused(ErrorCode::kIllegalState, "linux-x86_64-gpu", [&] { create("cuda:0", 2); });
  }
  auto transfer = DeviceTransfer::create(kDevice, 2);
  expect_refused(ErrorCode::kInvalidArgument, "at least one tensor", [&] { transfer->send({}); });
  expect_refused(ErrorCode::kInvalidArgument, "tensor 0", [&] { transfer->send({at::Tensor()}); });
  expect_refused(ErrorCode::kInvalidArgument, "tensor 1",
                 [&] { transfer->send({torch::zeros({2}), torch::eye(2).to_sparse()}); });
}

TEST_F(Transfers, PinningNeedsAnAllocator) {
  fake::allow_pinning(false);
  expect_refused(ErrorCode::kIllegalState, "cannot be page-locked for privateuseone:0", [&] {
    static_cast<void>(Slab::create_pinned({at::empty({0}, at::kLong)}, 1, kDevice));
  });
  fake::allow_pinning(true);
}

}  // namespace
}  // namespace torchfeed
