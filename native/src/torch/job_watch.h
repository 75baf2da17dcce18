// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace torchfeed {

/// What the workers of a loader are doing. libtorch's queues wait without an end and forget a job
/// when they do not: whoever has to give up waits here, and asks a queue only for what is in it.
/// Thread-safe.
class JobWatch {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Outcome { kEnded, kTimedOut, kInterrupted };

  explicit JobWatch(int64_t workers) : workers_(workers) {}

  /// Told by the worker of a job, whose number in the pass is `sequence`, before and after.
  void begin(size_t sequence, int64_t batch);
  void end(size_t sequence);

  /// Waits for the end of a job, or of any that was not forgotten; without a limit for ever.
  Outcome await(std::optional<size_t> sequence, std::optional<Clock::duration> limit);
  /// A job that ended was taken.
  void forget(size_t sequence);
  /// Whether `await` would not wait for this job, or for any.
  [[nodiscard]] bool is_ready(std::optional<size_t> sequence) const;
  /// How many jobs have ended and were not forgotten.
  [[nodiscard]] int64_t ready() const;
  /// What the workers are at, in words.
  [[nodiscard]] std::string describe() const;

  /// Makes every job end as soon as it can, until `reset`.
  void interrupt();
  [[nodiscard]] const std::atomic<bool>& interrupted() const { return interrupted_; }
  /// Waits for the workers that are still at a job, until `patience` after the interrupt; false if
  /// they do not come back, from the system or wherever they are.
  bool await_idle(Clock::duration patience);
  /// Forgets all jobs, of which none may be running.
  void reset();

 private:
  struct Running {
    size_t sequence;
    int64_t batch;
    Clock::time_point since;
  };

  const int64_t workers_;
  std::atomic<bool> interrupted_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Running> running_;
  std::set<size_t> ended_;
  Clock::time_point interrupted_at_;
};

}  // namespace torchfeed
