// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/work.h"

#include <chrono>
#include <string>
#include <utility>

#include "torch/base/guard.h"
#include "torch/base/live_count.h"
#include "torch/group/work_state.h"

namespace torchfeed {

bool Work::State::await(int64_t milliseconds) {
  std::unique_lock lock(mutex_);
  const auto done = [&] { return is_done_; };
  if (milliseconds < 0) {
    finished_.wait(lock, done);
  } else if (!finished_.wait_for(lock, std::chrono::milliseconds(milliseconds), done)) {
    return false;
  }
  if (failure_) {
    std::rethrow_exception(failure_);
  }
  return true;
}

bool Work::State::is_done() const {
  const std::lock_guard lock(mutex_);
  return is_done_;
}

const std::vector<at::Tensor>& Work::State::results() const {
  const std::lock_guard lock(mutex_);
  if (!is_done_ || failure_) {
    throw Error(ErrorCode::kIllegalState, "the operation has no result");
  }
  return results_;
}

void Work::State::announce() {
  const std::lock_guard lock(mutex_);
  is_done_ = true;
  finished_.notify_all();
}

Work::Work(std::shared_ptr<State> state)
    : state_(std::move(state)), live_(std::make_shared<LiveCount>()) {}

Work::~Work() = default;

bool Work::await(int64_t milliseconds) {
  return guarded([&] { return state_->await(milliseconds); });
}

bool Work::is_done() const { return state_->is_done(); }

int64_t Work::results() const {
  return guarded([&] { return static_cast<int64_t>(state_->results().size()); });
}

torch::Tensor Work::result(int64_t index) const {
  return guarded([&] { return state_->results().at(static_cast<size_t>(index)); });
}

}  // namespace torchfeed
