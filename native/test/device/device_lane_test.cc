// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/device_lane.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <thread>
#include <vector>

#include "device/fake_device.h"
#include "device/transfers.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

using testing::bytes_of;
using testing::expect_refused;
using testing::kDevice;
using testing::Reading;

class Lanes : public testing::Transfers {
 protected:
  /// Returns a tensor of the device that another thread has made on a stream of its own.
  static at::Tensor made_elsewhere(const at::Tensor& host, int64_t lane) {
    at::Tensor made;
    std::thread([&] {
      const int64_t before = DeviceLane::enter(kDevice, lane);
      made = host.to(c10::Device(kDevice), /*non_blocking=*/true);
      EXPECT_EQ(lane, DeviceLane::enter(kDevice, before));
    }).join();
    return made;
  }
};

TEST_F(Lanes, WorkGoesToTheStreamThatAThreadHasEntered) {
  const int64_t lane = DeviceLane::open(kDevice);
  const at::Tensor host = torch::arange(8);
  const at::Tensor made = made_elsewhere(host, lane);
  const auto busy = fake::busy_streams(compute());
  ASSERT_EQ(1U, busy.size());
  EXPECT_EQ(lane, busy[0].id());
  run_copies();
  EXPECT_EQ(bytes_of(host), bytes_of(made));
  EXPECT_NE(lane, DeviceLane::open(kDevice));
}

TEST_F(Lanes, DrainingWaitsForTheCurrentStream) {
  const at::Tensor host = torch::arange(8);
  const int64_t before = DeviceLane::enter(kDevice, DeviceLane::open(kDevice));
  const at::Tensor made = host.to(c10::Device(kDevice), /*non_blocking=*/true);
  EXPECT_EQ(1, fake::queued(0));
  DeviceLane::drain(kDevice);
  EXPECT_EQ(0, fake::queued(0));
  EXPECT_EQ(bytes_of(host), bytes_of(made));
  DeviceLane::enter(kDevice, before);
}

TEST_F(Lanes, SharedMemoryIsUsedAgainOnlyAfterTheConsumersWork) {
  const at::Tensor host = torch::arange(8);
  std::vector<at::Tensor> tensors = {made_elsewhere(host, DeviceLane::open(kDevice)), host};
  run_copies();
  DeviceLane::share(tensors);
  const Reading reading = fake::read_later(tensors[0]);
  tensors.clear();
  run_copies();
  EXPECT_EQ(1, fake::device_blocks());
  fake::run(compute());
  EXPECT_EQ(bytes_of(host), *reading);
  run_copies();
  EXPECT_EQ(0, fake::device_blocks());
}

TEST_F(Lanes, TheCpuHasNone) {
  EXPECT_EQ(0, DeviceLane::open("cpu"));
  EXPECT_EQ(0, DeviceLane::enter("cpu", 0));
  DeviceLane::drain("cpu");
  expect_refused(ErrorCode::kInvalidArgument, "must be a name like cuda:0",
                 [] { static_cast<void>(DeviceLane::open("gpu")); });
}

}  // namespace
}  // namespace torchfeed
