// SPDX-License-Identifier: Apache-2.0
#include "core/serial_lane.h"

#include <thread>
#include <utility>

namespace torchfeed {

void SerialLane::run(const std::function<void()>& call) {
  std::unique_lock lock(mutex_);
  const auto mine = next_++;
  changed_.wait(lock, [&] { return turn_ == mine; });
  lock.unlock();
  try {
    call();
  } catch (...) {
    end_turn();
    throw;
  }
  end_turn();
}

void SerialLane::post(std::function<void()> call, std::function<void()> done) {
  const std::lock_guard lock(mutex_);
  if (!has_thread_) {
    std::thread([self = shared_from_this()] { self->work(); }).detach();
    has_thread_ = true;
  }
  posted_.push_back({next_, std::move(call), std::move(done)});
  ++next_;
  changed_.notify_all();
}

bool SerialLane::is_busy() const {
  const std::lock_guard lock(mutex_);
  return turn_ != next_;
}

void SerialLane::work() {
  std::unique_lock lock(mutex_);
  while (changed_.wait_for(lock, idle_limit_, [&] { return !posted_.empty(); })) {
    Posted posted = std::move(posted_.front());
    posted_.pop_front();
    changed_.wait(lock, [&] { return turn_ == posted.turn; });
    lock.unlock();
    posted.call();
    posted.call = nullptr;  // frees the call's objects, in no lock
    end_turn();
    posted.done();
    posted.done = nullptr;
    lock.lock();
  }
  has_thread_ = false;
}

void SerialLane::end_turn() {
  const std::lock_guard lock(mutex_);
  ++turn_;
  changed_.notify_all();
}

}  // namespace torchfeed
