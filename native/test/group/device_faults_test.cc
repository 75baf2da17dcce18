// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "group/device_backend.h"
#include "group/rank_threads.h"
#include "torchfeed/error.h"
#include "torchfeed/process_group.h"
#include "torchfeed/work.h"

namespace torchfeed {
namespace {

using testing::device_of;
using testing::DeviceBackend;
using testing::DeviceState;
using testing::Exchange;
using testing::expect_error;
using testing::on_device;
using testing::on_device_ranks;

/// Starts an operation that the device has not done.
std::unique_ptr<Work> unfinished(ProcessGroup& group, DeviceState& state) {
  state.is_done = false;
  auto work = group.all_reduce(on_device(group, at::ones({2})), ProcessGroup::kSum,
                               ProcessGroup::kAsynchronous);
  while (state.operations == 0) {
    std::this_thread::yield();
  }
  return work;
}

void await_abort(const DeviceState& state) {
  while (state.aborts == 0) {
    std::this_thread::yield();
  }
}

TEST(DeviceFaults, AnOperationThatLeavesTheDeviceForAnAbortIsNotDone) {
  on_device_ranks([](ProcessGroup& group, DeviceState& state) {
    state.is_done_by_abort = true;
    const auto work = unfinished(group, state);
    group.abort();
    expect_error(ErrorCode::kIllegalState, "ProcessGroup was aborted", [&] { work->await(-1); });
    await_abort(state);
  });
}

TEST(DeviceFaults, AnOperationThatIsDoneBeforeAnAbortIsDone) {
  for (int round = 0; round < 20; ++round) {
    on_device_ranks([](ProcessGroup& group, DeviceState& state) {
      const auto work = unfinished(group, state);
      while (state.looks == 0) {
        std::this_thread::yield();
      }
      state.is_done = true;
      group.abort();
      EXPECT_TRUE(work->await(-1));
      await_abort(state);
    });
  }
}

TEST(DeviceFaults, AnOperationThatLeavesTheDeviceSinceItsBackendHasFailedIsNotDone) {
  using Failure = std::pair<c10d::ErrorType, ErrorCode>;
  for (const auto& [error, code] :
       std::vector<Failure>{{c10d::ErrorType::TIMEOUT, ErrorCode::kTimeout},
                            {c10d::ErrorType::COMM_ERROR, ErrorCode::kPeerLost},
                            {c10d::ErrorType::REMOTE_ERROR, ErrorCode::kPeerLost}}) {
    on_device_ranks([&, error = error, code = code](ProcessGroup& group, DeviceState& state) {
      const auto work = unfinished(group, state);
      state.error = error;
      state.is_done = true;
      expect_error(code, "thread", [&] { work->await(-1); });
      await_abort(state);
    });
  }
}

TEST(DeviceFaults, AfterAFailureTheBackendIsAbortedAndNotShutDown) {
  const auto states = on_device_ranks([](ProcessGroup& group, DeviceState& state) {
    const auto work = unfinished(group, state);
    {
      const std::lock_guard lock(state.mutex);
      state.failure = std::make_exception_ptr(std::runtime_error("NCCL error: ncclRemoteError"));
    }
    expect_error(ErrorCode::kPeerLost, "ncclRemoteError", [&] { work->await(-1); });
    await_abort(state);
    expect_error(ErrorCode::kPeerLost, "ncclRemoteError",
                 [&] { group.all_reduce(on_device(group, at::ones({2})), ProcessGroup::kSum); });
    EXPECT_EQ(1, state.operations);
  });
  for (const auto& state : states) {
    EXPECT_EQ(1, state->aborts);
    EXPECT_EQ(0, state->shutdowns);
  }
}

TEST(DeviceFaults, AShutdownThatFailsIsFollowedByAnAbort) {
  const auto states = on_device_ranks([](ProcessGroup& group, DeviceState& state) {
    state.is_shutdown_failing = true;
    group.all_reduce(on_device(group, at::ones({2})), ProcessGroup::kSum);
  });
  for (const auto& state : states) {
    EXPECT_EQ(1, state->shutdowns);
    EXPECT_EQ(1, state->aborts);
  }
}

TEST(DeviceFaults, AnAbortComesAfterACallThatStartsAnOperation) {
  on_device_ranks([](ProcessGroup& group, DeviceState& state) {
    state.is_start_held = true;
    const auto work = unfinished(group, state);
    group.abort();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(0, state.aborts);
    state.is_start_held = false;
    expect_error(ErrorCode::kIllegalState, "ProcessGroup was aborted", [&] { work->await(-1); });
    await_abort(state);
  });
}

TEST(DeviceFaults, AnOperationThatTakesTooLongFailsOnAllRanks) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto between_devices = std::make_shared<Exchange>(2);
  std::atomic<int> timeouts{0};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto group =
          ProcessGroup::connect(reinterpret_cast<int64_t>(store.get()), "timeout", rank, 2, 1500,
                                "127.0.0.1", /*network_interface=*/"", /*has_python_ranks=*/false);
      const auto state = std::make_shared<DeviceState>();
      state->device = device_of(rank);
      state->is_done = false;
      state->is_done_by_abort = true;
      auto backend = c10::make_intrusive<DeviceBackend>(between_devices, rank, 2, state);
      group->use_device(reinterpret_cast<int64_t>(backend.get()), state->device.str());
      backend.reset();
      try {
        group->all_reduce(on_device(*group, at::ones({2})), ProcessGroup::kSum);
        ADD_FAILURE() << "an operation that the device did not do is done";
      } catch (const Error& e) {
        // If the other rank leaves first, this one may notice that before its own timeout.
        EXPECT_TRUE(e.code() == ErrorCode::kTimeout || e.code() == ErrorCode::kPeerLost)
            << e.what();
        timeouts += e.code() == ErrorCode::kTimeout ? 1 : 0;
      }
      await_abort(*state);
    });
  }
  for (auto& rank : ranks) {
    rank.join();
  }
  EXPECT_LE(1, timeouts);
}

}  // namespace
}  // namespace torchfeed
