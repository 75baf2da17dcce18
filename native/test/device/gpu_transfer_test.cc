// SPDX-License-Identifier: Apache-2.0
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "torchfeed/device_transfer.h"
#include "torchfeed/runtime.h"
#include "torchfeed/slab.h"

namespace torchfeed {
namespace {

/// Tests on a real device; skipped if libtorch has none.
class GpuTransfers : public testing::Test {
 protected:
  void SetUp() override {
    if (accelerator_count() == 0) {
      GTEST_SKIP() << "libtorch sees no accelerator device";
    }
    device_ = accelerator_name() + ":0";
  }

  std::string device_;
};

TEST_F(GpuTransfers, BatchesArriveAsTheyWereSent) {
  constexpr int64_t kRows = 1 << 16;
  auto transfer = DeviceTransfer::create(device_, 2);
  std::vector<std::unique_ptr<Slab>> slabs;
  std::vector<at::Tensor> sums;
  std::vector<int64_t> expected;
  const auto send = [&](int64_t number) {
    const auto free =
        std::find_if(slabs.begin(), slabs.end(), [](const auto& slab) { return slab->is_free(); });
    if (free == slabs.end()) {
      slabs.push_back(Slab::create_pinned({at::empty({0}, at::kLong)}, kRows, device_));
    } else {
      std::swap(*free, slabs.back());
    }
    at::Tensor view = slabs.back()->view(0, kRows);
    view.copy_(torch::arange(kRows, torch::kInt64) * number);
    expected.push_back(view.sum().item<int64_t>());
    return transfer->send({view});
  };
  int64_t ahead = send(0);
  for (int64_t i = 1; i <= 1000; ++i) {
    const int64_t current = ahead;
    sums.push_back(transfer->receive(current)[0].sum());
    ahead = send(i);
    transfer->release(current);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    ASSERT_EQ(sums[i].item<int64_t>(), expected[i]) << "batch " << i;
  }
}

TEST_F(GpuTransfers, ACopyCompletesWhileTheComputationRuns) {
  const c10::Device device(device_);
  const c10::impl::VirtualGuardImpl guard(device.type());
  auto transfer = DeviceTransfer::create(device_, 2);
  const auto slab = Slab::create_pinned({at::empty({0}, at::kLong)}, 1 << 16, device_);
  const auto view = slab->view(0, 1 << 16);
  view.fill_(1);
  transfer->receive(transfer->send({view}));
  at::Tensor matrix = torch::eye(4096, torch::TensorOptions(device));
  for (int i = 0; i < 300; ++i) {
    matrix = matrix.matmul(matrix);
  }
  c10::Event computed(device.type());
  computed.record(guard.getStream(device));
  transfer->send({view});
  while (transfer->copying() > 0) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(computed.query());  // the copy did not wait for the computation
  computed.synchronize();
}

}  // namespace
}  // namespace torchfeed
