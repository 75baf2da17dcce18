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
  posted_.push_back({State::kWaiting, std::move(job), {}});
  ++count(State::kWaiting);
  if (count(State::kWaiting) >= count(State::kRunning) + count(State::kDone)) {
    put_.changed_now();  // naps may be late
  } else {
    put_.changed();
  }
}

const JobBoard::Posted* JobBoard::find(size_t sequence) const {
  return sequence < first_ || sequence >= first_ + posted_.size() ? nullptr
                                                                  : &posted_[sequence - first_];
}

JobBoard::Posted& JobBoard::move(size_t sequence, State to) {
  Posted& posted = posted_.at(sequence - first_);
  --count(posted.state);
  ++count(to);
  posted.state = to;
  return posted;
}

bool JobBoard::may_begin(size_t sequence) const {
  const Posted* const posted = find(sequence);
  return posted != nullptr && posted->state == State::kWaiting && !interrupted_ &&
         sequence < taken_ + static_cast<size_t>(ahead_);
}

bool JobBoard::is_done(std::optional<size_t> sequence) const {
  if (!sequence) {
    return count(State::kDone) > 0;
  }
  const Posted* const posted = find(*sequence);
  return posted != nullptr && posted->state == State::kDone;
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
  Posted& begun = move(sequence, State::kRunning);
  begun.since = Clock::now();
  RowJob job{begun.job.batch, std::move(begun.job.rows)};
  return job;
}

void JobBoard::end(size_t sequence, Rows rows) {
  const std::lock_guard<std::mutex> lock(mutex_);
  move(sequence, State::kDone).job.rows = std::move(rows);
  ended_.changed();
}

JobBoard::Outcome JobBoard::await(std::optional<size_t> sequence,
                                  std::optional<Clock::duration> limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto told = [&] { return interrupted_ || is_done(sequence); };
  if (!told() && count(State::kWaiting) > 0) {
    put_.changed_now();  // as above
  }
  if (!ended_.wait(lock, limit, told)) {
    return Outcome::kTimedOut;
  }
  return interrupted_ ? Outcome::kInterrupted : Outcome::kEnded;
}

Rows JobBoard::take(size_t sequence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Rows rows = std::move(move(sequence, State::kTaken).job.rows);
  while (!posted_.empty() && posted_.front().state == State::kTaken) {
    --count(State::kTaken);
    posted_.pop_front();
    ++first_;
  }
  ++taken_;
  put_.changed();
  return rows;
}

bool JobBoard::is_ready(std::optional<size_t> sequence) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_done(sequence);
}

int64_t JobBoard::ready() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(count(State::kDone));
}

size_t JobBoard::taken() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return taken_;
}

bool JobBoard::is_empty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return posted_.empty();
}

std::string JobBoard::describe() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::ostringstream text;
  text << workers_ - static_cast<int64_t>(count(State::kRunning)) << " of " << workers_
       << " workers idle, " << count(State::kDone) << " later batches ready";
  const auto now = Clock::now();
  for (const Posted& posted : posted_) {
    if (posted.state == State::kRunning) {
      text << "; batch " << posted.job.batch << " has been gathered for " << std::fixed
           << std::setprecision(1) << std::chrono::duration<double>(now - posted.since).count()
           << " s";
    }
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
  return ended_.wait(lock, left, [&] { return count(State::kRunning) == 0; });
}

void JobBoard::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  posted_.clear();
  counts_ = {};
  first_ = 0;
  taken_ = 0;
  dismissed_ = false;
  interrupted_ = false;
}

}  // namespace torchfeed
