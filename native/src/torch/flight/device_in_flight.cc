// SPDX-License-Identifier: Apache-2.0
// How the operations of a device end, and its backend is aborted.
//
// An operation that NCCL aborts leaves the device, and then looks like one that is done: libtorch
// notes the reason in a copy of the work. Its end is therefore believed only before an abort
// begins.
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "torch/base/device.h"
#include "torch/flight/future_work.h"
#include "torch/flight/in_flight.h"
#include "torch/flight/waits_in_flight.h"
#include "torchfeed/error.h"

namespace torchfeed {

namespace {

/// Time between two looks at a device's progress.
constexpr std::chrono::microseconds kPoll(50);
/// Time in which calls that start operations usually return: NCCL must not be aborted in them.
constexpr std::chrono::seconds kStartLimit(1);

/// Returns the failure for which the backend has begun to abort its operations; null without one.
std::exception_ptr failure_of(c10d::Backend& backend) {
  switch (backend.getError()) {
    case c10d::ErrorType::SUCCESS:
      return nullptr;
    case c10d::ErrorType::TIMEOUT:
      return std::make_exception_ptr(
          Error(ErrorCode::kTimeout,
                backend.getBackendName() + " has ended operations of which one took too long"));
    case c10d::ErrorType::COMM_ERROR:
    case c10d::ErrorType::REMOTE_ERROR:
      break;
  }
  return std::make_exception_ptr(
      Error(ErrorCode::kPeerLost, backend.getBackendName() +
                                      " has ended its operations since one of them failed, on this "
                                      "rank or another; with NCCL_DEBUG=WARN, NCCL tells why"));
}

}  // namespace

void InFlight::use_device(c10::intrusive_ptr<c10d::Backend> backend, c10::Device device) {
  const std::lock_guard lock(mutex_);
  device_backend_ = std::move(backend);
  device_ = device;
  poll_ = std::thread([this] { poll_device(); });
}

c10::intrusive_ptr<c10d::Work> InFlight::watched_on_device(const Start& start, Needs needs) {
  {
    const std::lock_guard lock(mutex_);
    if (*is_aborted_) {
      throw_aborted();
    }
    if (device_failure_) {
      std::rethrow_exception(device_failure_);
    }
    ++device_starts_;
  }
  const auto count = [&] {
    const std::lock_guard lock(mutex_);
    --device_starts_;
    if (device_failure_) {
      changed_.notify_all();
    }
  };
  c10::intrusive_ptr<c10d::Work> work;
  try {
    work = start();
  } catch (...) {
    count();
    throw;
  }
  count();
  return add(work, needs, work);
}

void InFlight::await_on_device(const Start& start, Needs needs) {
  (void)watched_on_device(start, needs)->wait();
}

bool InFlight::is_device_aborted() const {
  const std::lock_guard lock(mutex_);
  return device_failure_ != nullptr;
}

/// Ends an operation once the device has finished it, or its backend has noted a failure; returns
/// that.
std::exception_ptr InFlight::poll(Operation& operation) const {
  std::exception_ptr failure;
  try {
    const auto done = operation.device_work->getFuture();
    if (!done->completed() || !operation.device_work->isCompleted()) {
      return nullptr;
    }
    failure = operation.device_work->exception();
    if (!failure && done->hasError()) {
      failure = done->exception_ptr();
    }
    if (!failure) {
      failure = failure_of(*device_backend_);
    }
    if (!failure) {
      operation.end_as(*done, /*is_aborted=*/false);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    operation.end(*is_aborted_ ? detail::aborted() : failure);
  }
  return failure;
}

/// Ends operations of the device once it has finished them, until its backend is to be aborted.
void InFlight::poll_device() {
  enter_device(*device_);
  std::unique_lock lock(mutex_);
  while (!device_failure_) {
    changed_.wait(lock, [&] { return is_closing_ || device_failure_ || !on_device_.empty(); });
    if (device_failure_ || is_closing_) {
      break;
    }
    std::erase_if(on_device_, [](const auto& operation) { return operation->is_ended.load(); });
    const auto operations = on_device_;
    lock.unlock();
    std::exception_ptr failure;
    for (const auto& operation : operations) {
      failure = failure ? failure : poll(*operation);
    }
    if (!failure) {
      std::this_thread::sleep_for(kPoll);
    }
    lock.lock();
    if (failure) {
      abort_device(failure);
    }
  }
  if (device_failure_) {
    end_device(lock);
  }
}

/// Ends all operations of the device, as done only those that are so before its backend is aborted.
/// That happens in a thread of its own, since it can wait for the device.
void InFlight::end_device(std::unique_lock<std::mutex>& lock) {
  const auto operations = std::exchange(on_device_, {});
  const auto failure = device_failure_;
  lock.unlock();
  for (const auto& operation : operations) {
    (void)poll(*operation);
    operation->end(failure);
  }
  lock.lock();
  changed_.wait_for(lock, kStartLimit, [&] { return device_starts_ == 0; });
  const auto abort = [backend = std::move(device_backend_), device = *device_] {
    try {
      enter_device(device);
      backend->abort();
    } catch (const std::exception& e) {
      TORCH_WARN("aborting operations of a device: ", e.what());
    }
  };
  lock.unlock();
  try {
    std::thread(abort).detach();
  } catch (const std::system_error&) {
    abort();
  }
}

/// Lets the device's backend be aborted. The caller holds the lock.
void InFlight::abort_device(const std::exception_ptr& reason) {
  if (device_ && !device_failure_) {
    device_failure_ = reason;
    changed_.notify_all();
  }
}

}  // namespace torchfeed
