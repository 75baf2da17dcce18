// SPDX-License-Identifier: Apache-2.0
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/fake_device.h"
#include "device/transfers.h"
#include "torchfeed/device_transfer.h"
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
  if (!cuda_obstacle().empty()) {
    expect_refused(ErrorCode::kIllegalState, "linux-x86_64-gpu", [&] { create("cuda:0", 2); });
  } else if (c10::impl::VirtualGuardImpl(c10::kCUDA).deviceCount() == 0) {
    expect_refused(ErrorCode::kIllegalState, "sees no cuda device", [&] { create("cuda:0", 2); });
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
