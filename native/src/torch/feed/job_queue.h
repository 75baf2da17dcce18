// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "core/hand_off.h"
#include "core/rows/wanted_rows.h"

namespace torchfeed {

/// The rows of a batch to be gathered, and the number of the batch in the epoch.
struct RowJob {
  int64_t batch = 0;
  Rows rows;
};

/// The queue of gather jobs between the consumer of a loader and its workers; each job has a number
/// in the pass. libtorch's queues wait indefinitely, lose a job when they time out, and wake a
/// thread for every job. Therefore libtorch's workers wait here for jobs, and the consumer for
/// batches, and libtorch's queues are read only when they hold a result. Thread-safe.
class JobQueue {
 public:
  using Clock = HandOff::Clock;

  enum class Outcome { kDone, kTimedOut, kInterrupted };

  /// @param ahead  maximum number of jobs that have begun and are not taken
  JobQueue(int64_t workers, int64_t ahead);

  /// Submits a job under the next number.
  void submit(RowJob job);
  /// Waits until the job with that number is submitted and may begin, and returns it; `end` must
  /// follow. Returns no job if the workers are dismissed; if there are no workers, does not wait.
  /// Does not throw.
  std::optional<RowJob> begin(size_t sequence);
  /// @param rows  the job's index list, returned so that the consumer can reuse it
  void end(size_t sequence, Rows rows);

  /// Waits until the given job, or else any job not yet taken, has ended; without a limit,
  /// indefinitely.
  Outcome await(std::optional<size_t> sequence, std::optional<Clock::duration> limit);
  /// Marks the batch of an ended job as taken; returns the job, with its index list.
  RowJob take(size_t sequence);
  /// Returns whether `await` for this job, or for any, would return without waiting.
  [[nodiscard]] bool is_ready(std::optional<size_t> sequence) const;
  /// Returns the number of jobs that have ended and are not taken.
  [[nodiscard]] int64_t ready() const;
  [[nodiscard]] size_t taken() const;
  /// Returns whether every job is taken.
  [[nodiscard]] bool is_empty() const;
  /// Returns the time since the last call that workers have waited while a batch was ready to be
  /// taken, summed over the workers.
  [[nodiscard]] std::chrono::nanoseconds held() {
    return std::chrono::nanoseconds(held_nanos_.exchange(0, std::memory_order_relaxed));
  }
  /// Describes the workers' states, for messages.
  [[nodiscard]] std::string describe() const;

  /// Makes running jobs end as soon as possible and lets no other begin, until `resume` or `reset`.
  void interrupt();
  [[nodiscard]] const std::atomic<bool>& interrupted() const { return interrupted_; }
  /// Waits for workers that still run a job, until `patience` after the interrupt; returns false if
  /// one does not return, for example from a system call.
  bool await_idle(Clock::duration patience);
  /// Continues after an interrupt during which no job was queued or running.
  void resume() { interrupted_ = false; }
  /// Ends the waits of idle workers, until `reset`.
  void dismiss();
  /// Discards all jobs, which must not be running, and restarts the numbering at 0.
  void reset();

 private:
  enum class State { kWaiting, kRunning, kDone, kTaken, kCount };

  struct Job {
    State state;
    RowJob rows;
    Clock::time_point since;  // the start of the job, once it runs
  };

  [[nodiscard]] bool may_begin(size_t sequence) const;
  [[nodiscard]] bool is_done(std::optional<size_t> sequence) const;
  [[nodiscard]] const Job* find(size_t sequence) const;
  [[nodiscard]] size_t& count(State state) { return counts_[static_cast<size_t>(state)]; }
  [[nodiscard]] size_t count(State state) const { return counts_[static_cast<size_t>(state)]; }
  Job& move(size_t sequence, State to);
  /// Adds the time since the last change of a job's state to the time that workers were held.
  void account();

  const int64_t workers_;
  const int64_t ahead_;
  std::atomic<bool> interrupted_{false};
  HandOff hand_off_;
  std::deque<Job> jobs_;  // begins with the first job that is not taken
  size_t first_ = 0;      // the number of that job
  size_t taken_ = 0;
  std::array<size_t, static_cast<size_t>(State::kCount)> counts_{};  // number of jobs by state
  Clock::time_point changed_at_;
  std::atomic<int64_t> held_nanos_{0};
  bool dismissed_ = false;
  Clock::time_point interrupted_at_;
};

}  // namespace torchfeed
