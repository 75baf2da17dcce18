// SPDX-License-Identifier: Apache-2.0
#include "torch/job_watch.h"

#include <iomanip>
#include <sstream>

namespace torchfeed {

void JobWatch::begin(size_t sequence, int64_t batch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  running_.push_back({sequence, batch, Clock::now()});
}

void JobWatch::end(size_t sequence) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(running_, [&](const Running& job) { return job.sequence == sequence; });
    ended_.insert(sequence);
  }
  changed_.notify_all();
}

JobWatch::Outcome JobWatch::await(std::optional<size_t> sequence,
                                  std::optional<Clock::duration> limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto told = [&] {
    return interrupted_ || (sequence ? ended_.count(*sequence) > 0 : !ended_.empty());
  };
  if (!limit) {
    changed_.wait(lock, told);
  } else if (!changed_.wait_for(lock, *limit, told)) {
    return Outcome::kTimedOut;
  }
  return interrupted_ ? Outcome::kInterrupted : Outcome::kEnded;
}

void JobWatch::forget(size_t sequence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_.erase(sequence);
}

bool JobWatch::is_ready(std::optional<size_t> sequence) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sequence ? ended_.count(*sequence) > 0 : !ended_.empty();
}

int64_t JobWatch::ready() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(ended_.size());
}

std::string JobWatch::describe() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::ostringstream text;
  text << workers_ - static_cast<int64_t>(running_.size()) << " of " << workers_
       << " workers idle, " << ended_.size() << " later batches ready";
  const auto now = Clock::now();
  for (const Running& job : running_) {
    text << "; batch " << job.batch << " has been gathered for " << std::fixed
         << std::setprecision(1) << std::chrono::duration<double>(now - job.since).count() << " s";
  }
  return text.str();
}

void JobWatch::interrupt() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!interrupted_) {
      interrupted_ = true;
      interrupted_at_ = Clock::now();
    }
  }
  changed_.notify_all();
}

bool JobWatch::await_idle(Clock::duration patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, interrupted_at_ + patience, [&] { return running_.empty(); });
}

void JobWatch::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_.clear();
  interrupted_ = false;
}

}  // namespace torchfeed
