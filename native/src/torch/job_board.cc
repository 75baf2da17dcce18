// SPDX-License-Identifier: Apache-2.0
#include "torch/job_board.h"

#include <iomanip>
#include <sstream>
#include <thread>
#include <utility>

namespace torchfeed {

JobBoard::JobBoard(int64_t workers, int64_t ahead)
    : workers_(workers),
      ahead_(ahead),
      ended_(workers < static_cast<int64_t>(std::thread::hardware_concurrency())) {}

void JobBoard::put(RowJob job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.emplace(next_, std::move(job));
  ++next_;
  if (waiting_.size() >= running_.size() + done_.size()) {
    put_.changed_now();  // naps may be late
  } else {
    put_.changed();
  }
}

bool JobBoard::may_begin(size_t sequence) const {
  return !interrupted_ && sequence < taken_ + static_cast<size_t>(ahead_) &&
         waiting_.count(sequence) > 0;
}

std::optional<RowJob> JobBoard::begin(size_t sequence) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!may_begin(sequence)) {
    ended_.changed_now();  // whoever waits has the time to wake others
  }
  put_.wait(lock, std::nullopt, [&] { return may_begin(sequence) || dismissed_ || workers_ == 0; });
  if (!may_begin(sequence)) {
    return std::nullopt;
  }
  RowJob job = std::move(waiting_.extract(sequence).mapped());
  running_.push_back({sequence, job.batch, Clock::now()});
  return job;
}

void JobBoard::end(size_t sequence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(running_, [&](const Running& job) { return job.sequence == sequence; });
  done_.insert(sequence);
  ended_.changed();
}

JobBoard::Outcome JobBoard::await(std::optional<size_t> sequence,
                                  std::optional<Clock::duration> limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto told = [&] {
    return interrupted_ || (sequence ? done_.count(*sequence) > 0 : !done_.empty());
  };
  if (!told() && !waiting_.empty()) {
    put_.changed_now();  // as above
  }
  if (!ended_.wait(lock, limit, told)) {
    return Outcome::kTimedOut;
  }
  return interrupted_ ? Outcome::kInterrupted : Outcome::kEnded;
}

void JobBoard::take(size_t sequence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  done_.erase(sequence);
  ++taken_;
  put_.changed();
}

bool JobBoard::is_ready(std::optional<size_t> sequence) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sequence ? done_.count(*sequence) > 0 : !done_.empty();
}

int64_t JobBoard::ready() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(done_.size());
}

size_t JobBoard::taken() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return taken_;
}

bool JobBoard::is_empty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_.empty() && running_.empty() && done_.empty();
}

std::string JobBoard::describe() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::ostringstream text;
  text << workers_ - static_cast<int64_t>(running_.size()) << " of " << workers_
       << " workers idle, " << done_.size() << " later batches ready";
  const auto now = Clock::now();
  for (const Running& job : running_) {
    text << "; batch " << job.batch << " has been gathered for " << std::fixed
         << std::setprecision(1) << std::chrono::duration<double>(now - job.since).count() << " s";
  }
  return text.str();
}

void JobBoard::interrupt() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!interrupted_) {
    interrupted_ = true;
    interrupted_at_ = Clock::now();
  }
  ended_.changed_now();
}

void JobBoard::dismiss() {
  const std::lock_guard<std::mutex> lock(mutex_);
  dismissed_ = true;
  put_.changed_now();
}

bool JobBoard::await_idle(Clock::duration patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  const Clock::duration left = interrupted_at_ + patience - Clock::now();
  return ended_.wait(lock, left, [&] { return running_.empty(); });
}

void JobBoard::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.clear();
  done_.clear();
  next_ = 0;
  taken_ = 0;
  dismissed_ = false;
  interrupted_ = false;
}

}  // namespace torchfeed
