// SPDX-License-Identifier: Apache-2.0
#include "torch/in_flight.h"

#include <algorithm>
#include <string>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

using std::chrono::milliseconds;

/// Time in which an operation whose connections are shut down usually fails by itself.
constexpr milliseconds kGrace(20);
constexpr milliseconds kLap(250);
/// Time without a byte after which the ranks that are left send no more.
constexpr milliseconds kQuiet(1000);

std::exception_ptr aborted() {
  return std::make_exception_ptr(Error(ErrorCode::kIllegalState, "ProcessGroup was aborted"));
}

std::exception_ptr peer_lost(int64_t rank) {
  return std::make_exception_ptr(Error(
      ErrorCode::kPeerLost, "Connection closed by " + (rank < 0 ? std::string("another rank")
                                                                : "rank " + std::to_string(rank))));
}

}  // namespace

/// A collective operation, which ends once.
struct InFlight::Operation {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  Needs needs;
  Clock::time_point start = Clock::now();
  std::atomic<bool> is_ended{false};

  void end(const std::exception_ptr& failure) {
    if (!is_ended.exchange(true)) {
      future->setError(failure);
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

/// Unlike libtorch's own work over a future, throws what the future failed with.
class InFlight::Watched : public c10d::Work {
 public:
  explicit Watched(c10::intrusive_ptr<c10::ivalue::Future> future) : future_(std::move(future)) {}

  bool isCompleted() override { return future_->completed(); }
  bool isSuccess() const override { return future_->completed() && !future_->hasError(); }
  std::exception_ptr exception() const override { return future_->exception_ptr(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

  bool wait(std::chrono::milliseconds /*timeout*/) override {
    future_->waitAndThrow();
    return true;
  }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

InFlight::InFlight(const detail::GroupSockets& sockets, int64_t world_size)
    : sockets_(sockets), world_size_(world_size) {
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
  if (watch_.joinable()) {
    watch_.join();
  }
}

c10::intrusive_ptr<c10d::Work> InFlight::watched(const c10::intrusive_ptr<c10d::Work>& work,
                                                 Needs needs) {
  const auto done = work->getFuture();
  const auto operation = std::make_shared<Operation>();
  operation->future = c10::make_intrusive<c10::ivalue::Future>(done->elementType());
  operation->needs = needs;
  {
    const std::lock_guard lock(mutex_);
    if (*is_aborted_) {
      throw_aborted();
    }
    operations_.push_back(operation);
  }
  done->addCallback([operation, is_aborted = is_aborted_](c10::ivalue::Future& ended) {
    operation->end_as(ended, *is_aborted);
  });
  return c10::make_intrusive<Watched>(operation->future);
}

void InFlight::await(const c10::intrusive_ptr<c10d::Work>& work, Needs needs) {
  (void)watched(work, needs)->wait();
}

void InFlight::await_message(const c10::intrusive_ptr<c10d::Work>& work, int64_t peer) {
  Message message{work.get(), peer, Clock::now()};
  {
    const std::lock_guard lock(mutex_);
    if (*is_aborted_) {
      throw_aborted();
    }
    messages_.insert(&message);
  }
  const auto leave = [&] {
    const std::lock_guard lock(mutex_);
    messages_.erase(&message);
  };
  bool is_complete = false;
  try {
    is_complete = work->wait();
  } catch (...) {
    leave();
    throw;
  }
  leave();
  if (!is_complete) {
    std::rethrow_exception(message.is_lost ? peer_lost(peer) : aborted());
  }
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
    for (const Message* message : messages_) {
      message->work->abort();
    }
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
  return pending().empty() && messages_.empty();
}

bool InFlight::is_aborted() const { return *is_aborted_; }

void InFlight::throw_aborted() { std::rethrow_exception(aborted()); }

void InFlight::watch() {
  std::vector<int64_t> lost;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLap, [&] { return is_closing_; })) {
    const bool is_idle = pending().empty() && messages_.empty();
    // What Gloo tells by itself, it tells within a lap.
    const auto lost_before =
        std::exchange(lost, is_idle ? std::vector<int64_t>() : sockets_.lost());
    if (!lost_before.empty() && !lost.empty()) {
      end_operations_without(lost, Clock::now());
    }
  }
}

/// Ends operations that need one of the lost ranks. A rank may leave after the last operation; then
/// those that all ranks have begun need only bytes that are on their way.
void InFlight::end_operations_without(const std::vector<int64_t>& lost, Clock::time_point now) {
  for (Message* message : messages_) {
    const bool is_gone =
        world_size_ == 2 || std::find(lost.begin(), lost.end(), message->peer) != lost.end();
    if (is_gone && now - message->start > kLap) {
      message->is_lost = true;
      message->work->abort();
    }
  }
  const bool is_quiet = sockets_.quiet_for() > kQuiet;
  for (const auto& operation : pending()) {
    const bool needs_lost = world_size_ == 2 || (is_quiet && operation->needs == Needs::kEveryRank);
    if (needs_lost && now - operation->start > kLap) {
      operation->end(peer_lost(lost.front()));
    }
  }
}

}  // namespace torchfeed
