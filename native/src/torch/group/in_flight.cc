// SPDX-License-Identifier: Apache-2.0
#include "torch/group/in_flight.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "torch/base/device.h"
#include "torch/group/future_work.h"
#include "torch/group/messages_in_flight.h"
#include "torchfeed/error.h"

namespace torchfeed {

using detail::peer_lost;

namespace {

using std::chrono::milliseconds;

/// Time in which an operation whose connections are shut down usually fails by itself.
constexpr milliseconds kGrace(20);
/// Time between two looks at what a device has finished.
constexpr std::chrono::microseconds kPoll(50);

std::exception_ptr aborted() {
  return std::make_exception_ptr(Error(ErrorCode::kIllegalState, "ProcessGroup was aborted"));
}

}  // namespace

std::exception_ptr detail::peer_lost(int64_t rank) {
  return std::make_exception_ptr(Error(
      ErrorCode::kPeerLost, "Connection closed by " + (rank < 0 ? std::string("another rank")
                                                                : "rank " + std::to_string(rank))));
}

/// A collective operation, which ends once.
struct InFlight::Operation {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  Needs needs;
  c10::intrusive_ptr<c10d::Work> device_work;  // null unless a device does it
  Clock::time_point start = Clock::now();
  std::atomic<bool> is_ended{false};

  void end(const std::exception_ptr& failure) {
    if (!is_ended.exchange(true)) {
      future->setError(failure);
    }
  }

  /// Ends the operation if the device has.
  void poll(bool is_aborted) {
    try {
      const auto done = device_work->getFuture();
      if (!done->completed() || !device_work->isCompleted()) {
        return;
      }
      if (const auto failure = device_work->exception()) {
        end(is_aborted ? aborted() : failure);
      } else {
        end_as(*done, is_aborted);
      }
    } catch (...) {
      end(is_aborted ? aborted() : std::current_exception());
    }
  }

  void end_as(c10::ivalue::Future& done, bool is_aborted) {
    if (done.hasError()) {
      end(is_aborted ? aborted() : done.exception_ptr());
    } else if (!is_ended.exchange(true)) {
      future->markCompleted(done.value());
    }
  }
};

bool Needs::certainly(int64_t other, int64_t own, int64_t world_size) const {
  if (pattern == Pattern::kEveryRank) {
    return true;
  }
  if (own == root || other < 0) {
    return false;
  }
  if (pattern == Pattern::kRoot) {
    return other == root;
  }
  // Counted from the root, the parent of a rank has the same number without its lowest bit.
  const int64_t sought = (other - root + world_size) % world_size;
  int64_t sender = (own - root + world_size) % world_size;
  while (sender > 0) {
    sender &= sender - 1;
    if (sender == sought) {
      return true;
    }
  }
  return false;
}

InFlight::InFlight(const detail::GroupSockets& sockets, int64_t rank, int64_t world_size,
                   Limits limits)
    : sockets_(sockets), rank_(rank), world_size_(world_size), limits_(limits) {
  if (!sockets.is_empty()) {
    watch_ = std::thread([this] { watch(); });
  }
}

InFlight::~InFlight() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  for (std::thread* thread : {&watch_, &poll_}) {
    if (thread->joinable()) {
      thread->join();
    }
  }
}

void InFlight::use_device(c10::intrusive_ptr<c10d::Backend> backend, c10::Device device) {
  device_backend_ = std::move(backend);
  device_ = device;
  poll_ = std::thread([this] { poll_device(); });
}

c10::intrusive_ptr<c10d::Work> InFlight::watched(const c10::intrusive_ptr<c10d::Work>& work,
                                                 Needs needs) {
  return add(work, needs, nullptr);
}

c10::intrusive_ptr<c10d::Work> InFlight::watched_on_device(
    const c10::intrusive_ptr<c10d::Work>& work, Needs needs) {
  return add(work, needs, work);
}

c10::intrusive_ptr<c10d::Work> InFlight::add(const c10::intrusive_ptr<c10d::Work>& work,
                                             Needs needs,
                                             const c10::intrusive_ptr<c10d::Work>& device_work) {
  const auto done = work->getFuture();
  const auto operation = std::make_shared<Operation>();
  operation->future =
      c10::make_intrusive<c10::ivalue::Future>(done->elementType(), done->devices());
  operation->needs = needs;
  operation->device_work = device_work;
  {
    const std::lock_guard lock(mutex_);
    if (*is_aborted_) {
      throw_aborted();
    }
    if (device_work && is_device_aborted_) {
      std::rethrow_exception(peer_lost(-1));
    }
    operations_.push_back(operation);
    if (device_work) {
      on_device_.push_back(operation);
    }
  }
  if (device_work) {
    changed_.notify_all();
  } else {
    done->addCallback([operation, is_aborted = is_aborted_](c10::ivalue::Future& ended) {
      operation->end_as(ended, *is_aborted);
    });
  }
  return c10::make_intrusive<detail::FutureWork>(operation->future);
}

void InFlight::await(const c10::intrusive_ptr<c10d::Work>& work, Needs needs) {
  (void)watched(work, needs)->wait();
}

void InFlight::await_on_device(const c10::intrusive_ptr<c10d::Work>& work, Needs needs) {
  (void)watched_on_device(work, needs)->wait();
}

std::vector<std::shared_ptr<InFlight::Operation>> InFlight::pending() {
  std::vector<std::shared_ptr<Operation>> pending;
  std::erase_if(operations_, [&](const auto& each) {
    auto operation = each.lock();
    if (!operation || operation->is_ended) {
      return true;
    }
    pending.push_back(std::move(operation));
    return false;
  });
  return pending;
}

void InFlight::abort() {
  std::vector<std::shared_ptr<Operation>> operations;
  {
    const std::lock_guard lock(mutex_);
    *is_aborted_ = true;
    operations = pending();
    for (Batch* batch : batches_) {
      batch->wake();
    }
    abort_device();
  }
  sockets_.shut_down();
  const auto limit = Clock::now() + kGrace;
  for (const auto& operation : operations) {
    while (!operation->is_ended && Clock::now() < limit) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    operation->end(aborted());
  }
}

bool InFlight::is_idle() {
  const std::lock_guard lock(mutex_);
  return pending().empty() && batches_.empty();
}

bool InFlight::is_aborted() const { return *is_aborted_; }

bool InFlight::is_device_aborted() const {
  const std::lock_guard lock(mutex_);
  return is_device_aborted_;
}

void InFlight::throw_aborted() { std::rethrow_exception(aborted()); }

int64_t InFlight::lost_rank() const {
  {
    const std::lock_guard lock(mutex_);
    if (first_lost_ >= 0) {
      return first_lost_;
    }
  }
  const auto lost = sockets_.lost();
  return lost.empty() ? -1 : lost.front();
}

bool InFlight::is_lost(int64_t rank) const {
  const auto lost = sockets_.lost();
  return std::find(lost.begin(), lost.end(), rank) != lost.end();
}

void InFlight::watch() {
  std::vector<int64_t> lost;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, limits_.lap, [&] { return is_closing_; })) {
    const bool is_idle = pending().empty() && batches_.empty();
    // What Gloo tells by itself, it tells within a lap.
    const auto lost_before =
        std::exchange(lost, is_idle ? std::vector<int64_t>() : sockets_.lost());
    if (!lost.empty() && first_lost_ < 0) {
      first_lost_ = lost.front();
    }
    if (!lost_before.empty() && !lost.empty()) {
      end_messages_without(lost);
      const auto failures = end_operations_without(lost, Clock::now());
      lock.unlock();  // callbacks of a failure may call this object
      for (const auto& [operation, failure] : failures) {
        operation->end(failure);
      }
      lock.lock();
    }
  }
}

/// Ends operations of the device once it has finished them, or their backend has noted a failure.
void InFlight::poll_device() {
  enter_device(*device_);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_closing_ || !on_device_.empty(); });
    if (is_closing_) {
      return;
    }
    std::erase_if(on_device_, [](const auto& operation) { return operation->is_ended.load(); });
    const auto operations = on_device_;
    lock.unlock();
    for (const auto& operation : operations) {
      operation->poll(*is_aborted_);
    }
    std::this_thread::sleep_for(kPoll);
    lock.lock();
  }
}

/// Aborts the device's backend in a thread, since that can wait for the device. The caller holds
/// the lock.
void InFlight::abort_device() {
  if (!device_backend_) {
    return;
  }
  is_device_aborted_ = true;
  std::thread([backend = std::move(device_backend_), device = *device_] {
    try {
      enter_device(device);
      backend->abort();
    } catch (const std::exception& e) {
      TORCH_WARN("aborting operations of a device: ", e.what());
    }
  }).detach();
}

/// Returns the operations that need one of the lost ranks. A rank may leave after the last
/// operation; then those that need it, and so have begun there, need only bytes that are on their
/// way. If it is not known whether a lost rank is needed, another rank may just be late, so more
/// time passes first.
InFlight::Failures InFlight::end_operations_without(const std::vector<int64_t>& lost,
                                                    Clock::time_point now) {
  Failures failures;
  const auto quiet = sockets_.quiet_for();
  for (const auto& operation : pending()) {
    // A device need not use Gloo's tree.
    const bool is_tree = operation->needs.pattern == Needs::Pattern::kTree;
    const auto needed = std::find_if(lost.begin(), lost.end(), [&](int64_t rank) {
      return !(operation->device_work && is_tree) &&
             operation->needs.certainly(rank, rank_, world_size_);
    });
    const auto limit = needed == lost.end() ? limits_.long_quiet : limits_.quiet;
    const auto age = now - operation->start;
    if (world_size_ == 2 ? age > limits_.lap : age > limit && quiet > limit) {
      failures.emplace_back(operation, peer_lost(needed == lost.end() ? lost.front() : *needed));
      if (operation->device_work) {
        abort_device();
      }
    }
  }
  return failures;
}

}  // namespace torchfeed
