// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "group/rank_threads.h"
#include "group/thread_backend.h"
#include "torchfeed/process_group.h"

namespace torchfeed::testing {

/// Returns the device of a rank. Two ranks of a process cannot train on the same one, for which
/// libtorch's autograd engine has one thread.
inline c10::Device device_of(int64_t rank) {
  return {c10::kPrivateUse1, static_cast<c10::DeviceIndex>(rank)};
}

inline at::Tensor on_device(const ProcessGroup& group, const at::Tensor& tensor) {
  return tensor.to(device_of(group.rank()));
}

inline bool is_current(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getDevice() == device;
}

/// The operations of a device, like NCCL's: their futures are complete at once, and the work later.
struct DeviceState {
  c10::Device device = device_of(0);
  std::atomic<bool> is_elsewhere{false};  // whether a thread called from another device
  std::atomic<bool> is_done{true};
  std::atomic<bool> is_done_by_abort{false};  // as an operation of NCCL, which leaves the device
  std::atomic<bool> is_start_held{false};     // whether calls that start operations do not return
  std::atomic<bool> is_shutdown_failing{false};
  std::atomic<c10d::ErrorType> error{c10d::ErrorType::SUCCESS};  // noted by the backend
  std::atomic<int> operations{0};
  std::atomic<int> looks{0};              // at operations, whether they are done
  std::atomic<c10::StreamId> stream{-1};  // of the thread that started the last operation
  std::atomic<int> aborts{0};
  std::atomic<int> shutdowns{0};
  std::mutex mutex;
  std::exception_ptr failure;

  /// Notes whether the calling thread is on the device.
  void note_device() {
    if (!is_current(device)) {
      is_elsewhere = true;
    }
  }
};

class DeviceWork : public ThreadWork {
 public:
  DeviceWork(c10::intrusive_ptr<c10::ivalue::Future> future, std::shared_ptr<DeviceState> state)
      : ThreadWork(std::move(future)), state_(std::move(state)) {}

  bool isCompleted() override {
    state_->note_device();
    ++state_->looks;
    return exception() || state_->is_done;
  }
  std::exception_ptr exception() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->failure;
  }

 private:
  std::shared_ptr<DeviceState> state_;
};

class DeviceBackend : public ThreadBackend {
 public:
  DeviceBackend(std::shared_ptr<Exchange> exchange, int rank, int size,
                std::shared_ptr<DeviceState> state)
      : ThreadBackend(std::move(exchange), rank, size), state_(std::move(state)) {}

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    return done(ThreadBackend::broadcast(tensors, options), tensors);
  }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    return done(ThreadBackend::allreduce(tensors, options), tensors);
  }

  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override {
    return done(ThreadBackend::allgather(outputs, inputs, options), inputs);
  }

  void abort() override {
    state_->note_device();
    if (state_->is_done_by_abort) {
      state_->is_done = true;
    }
    ++state_->aborts;
  }

  void shutdown() override {
    state_->note_device();
    ++state_->shutdowns;
    if (state_->is_shutdown_failing) {
      throw std::runtime_error("NCCL error: ncclRemoteError");
    }
  }

  c10d::ErrorType getError() override { return state_->error; }

 private:
  c10::intrusive_ptr<c10d::Work> done(const c10::intrusive_ptr<c10d::Work>& work,
                                      const std::vector<at::Tensor>& tensors) {
    EXPECT_EQ(device_of(getRank()), tensors.at(0).device());
    EXPECT_TRUE(work->wait());
    state_->stream =
        c10::impl::VirtualGuardImpl(c10::kPrivateUse1).getStream(device_of(getRank())).id();
    ++state_->operations;
    while (state_->is_start_held) {
      std::this_thread::yield();
    }
    auto future =
        c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                 std::vector<c10::Device>{device_of(getRank())});
    future->markCompleted(c10::IValue(tensors));
    return c10::make_intrusive<DeviceWork>(std::move(future), state_);
  }

  std::shared_ptr<DeviceState> state_;
};

/// Runs `body` on two ranks whose groups have a backend of the device, each with its own state, and
/// closes the groups. Returns the states.
inline std::vector<std::shared_ptr<DeviceState>> on_device_ranks(
    const std::function<void(ProcessGroup&, DeviceState&)>& body) {
  auto between_devices = std::make_shared<Exchange>(2);
  std::vector<std::shared_ptr<DeviceState>> states;
  for (int64_t rank = 0; rank < 2; ++rank) {
    states.push_back(std::make_shared<DeviceState>());
    states.back()->device = device_of(rank);
  }
  on_ranks(2, [&](ProcessGroup& group, Exchange&) {
    const auto& state = states[static_cast<size_t>(group.rank())];
    auto backend = c10::make_intrusive<DeviceBackend>(between_devices,
                                                      static_cast<int>(group.rank()), 2, state);
    group.use_device(reinterpret_cast<int64_t>(backend.get()), device_of(group.rank()).str());
    backend.reset();
    body(group, *state);
  });
  for (const auto& state : states) {
    EXPECT_FALSE(state->is_elsewhere);
  }
  return states;
}

}  // namespace torchfeed::testing
