// SPDX-License-Identifier: Apache-2.0
#include "torch/feed/job_queue.h"

#include <chrono>
#include <iomanip>
#include <sstream>
#include <thread>
#include <utility>

namespace torchfeed {

JobQueue::JobQueue(int64_t workers, int64_t ahead)
    : workers_(workers),
      ahead_(ahead),
      hand_off_(workers < static_cast<int64_t>(std::thread::hardware_concurrency())) {}

void JobQueue::submit(RowJob job) {
  const HandOff::Lock lock = hand_off_.lock();
  account();
  jobs_.push_back({State::kWaiting, std::move(job), {}});
  ++count(State::kWaiting);
  hand_off_.submitted(count(State::kWaiting) >= count(State::kRunning) + count(State::kDone));
}

const JobQueue::Job* JobQueue::find(size_t sequence) const {
  return sequence < first_ || sequence >= first_ + jobs_.size() ? nullptr
                                                                : &jobs_[sequence - first_];
}

JobQueue::Job& JobQueue::move(size_t sequence, State to) {
  Job& job = jobs_.at(sequence - first_);
  account();
  --count(job.state);
  ++count(to);
  job.state = to;
  return job;
}

void JobQueue::account() {
  const Clock::time_point now = Clock::now();
  if (count(State::kDone) > 0) {
    const auto idle = workers_ - static_cast<int64_t>(count(State::kRunning));
    const std::chrono::nanoseconds held = idle * (now - changed_at_);
    held_nanos_.fetch_add(held.count(), std::memory_order_relaxed);
  }
  changed_at_ = now;
}

bool JobQueue::may_begin(size_t sequence) const {
  const Job* const job = find(sequence);
  return job != nullptr && job->state == State::kWaiting && !interrupted_ &&
         sequence < taken_ + static_cast<size_t>(ahead_);
}

bool JobQueue::is_done(std::optional<size_t> sequence) const {
  if (!sequence) {
    return count(State::kDone) > 0;
  }
  const Job* const job = find(*sequence);
  return job != nullptr && job->state == State::kDone;
}

std::optional<RowJob> JobQueue::begin(size_t sequence) {
  HandOff::Lock lock = hand_off_.lock();
  hand_off_.await_work(lock, [&] { return may_begin(sequence) || dismissed_ || workers_ == 0; });
  if (!may_begin(sequence)) {
    return std::nullopt;
  }
  Job& begun = move(sequence, State::kRunning);
  begun.since = changed_at_;
  return RowJob{begun.rows.batch, std::move(begun.rows.rows)};
}

void JobQueue::end(size_t sequence, Rows rows) {
  const HandOff::Lock lock = hand_off_.lock();
  move(sequence, State::kDone).rows.rows = std::move(rows);
  hand_off_.completed();
}

JobQueue::Outcome JobQueue::await(std::optional<size_t> sequence,
                                  std::optional<Clock::duration> limit) {
  HandOff::Lock lock = hand_off_.lock();
  if (!hand_off_.await_result(lock, limit, [&] { return interrupted_ || is_done(sequence); })) {
    return Outcome::kTimedOut;
  }
  return interrupted_ ? Outcome::kInterrupted : Outcome::kDone;
}

RowJob JobQueue::take(size_t sequence) {
  const HandOff::Lock lock = hand_off_.lock();
  RowJob job = std::move(move(sequence, State::kTaken).rows);
  while (!jobs_.empty() && jobs_.front().state == State::kTaken) {
    --count(State::kTaken);
    jobs_.pop_front();
    ++first_;
  }
  ++taken_;
  hand_off_.submitted(false);  // another job may begin
  return job;
}

bool JobQueue::is_ready(std::optional<size_t> sequence) const {
  const HandOff::Lock lock = hand_off_.lock();
  return is_done(sequence);
}

int64_t JobQueue::ready() const {
  const HandOff::Lock lock = hand_off_.lock();
  return static_cast<int64_t>(count(State::kDone));
}

size_t JobQueue::taken() const {
  const HandOff::Lock lock = hand_off_.lock();
  return taken_;
}

bool JobQueue::is_empty() const {
  const HandOff::Lock lock = hand_off_.lock();
  return jobs_.empty();
}

std::string JobQueue::describe() const {
  const HandOff::Lock lock = hand_off_.lock();
  std::ostringstream text;
  text << workers_ - static_cast<int64_t>(count(State::kRunning)) << " of " << workers_
       << " workers idle, " << count(State::kDone) << " later batches ready";
  const auto now = Clock::now();
  for (const Job& job : jobs_) {
    if (job.state == State::kRunning) {
      text << "; batch " << job.rows.batch << " has been in progress for " << std::fixed
           << std::setprecision(1) << std::chrono::duration<double>(now - job.since).count()
           << " s";
    }
  }
  return text.str();
}

void JobQueue::interrupt() {
  const HandOff::Lock lock = hand_off_.lock();
  if (!interrupted_) {
    interrupted_ = true;
    interrupted_at_ = Clock::now();
  }
  hand_off_.interrupt();
}

void JobQueue::dismiss() {
  const HandOff::Lock lock = hand_off_.lock();
  dismissed_ = true;
  hand_off_.interrupt();
}

bool JobQueue::await_idle(Clock::duration patience) {
  HandOff::Lock lock = hand_off_.lock();
  const Clock::duration left = interrupted_at_ + patience - Clock::now();
  return hand_off_.await_result(lock, left, [&] { return count(State::kRunning) == 0; });
}

void JobQueue::reset() {
  const HandOff::Lock lock = hand_off_.lock();
  jobs_.clear();
  counts_ = {};
  first_ = 0;
  taken_ = 0;
  dismissed_ = false;
  interrupted_ = false;
}

}  // namespace torchfeed
