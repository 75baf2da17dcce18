// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "core/dozing_condition.h"
#include "torch/row_columns.h"

namespace torchfeed {

/// The rows of a batch that is to be gathered, and its number in the epoch.
struct RowJob {
  int64_t batch = 0;
  Rows rows;
};

/// Where the consumer of a loader puts jobs up and its workers fetch them, each by its number in
/// the pass. libtorch's queues wait without an end, forget a job when they do not, and wake a
/// thread for each: so its workers wait here for their jobs, as the consumer does for batches, and
/// its queues are asked only for what is in them. Thread-safe.
class JobBoard {
 public:
  using Clock = DozingCondition::Clock;

  enum class Outcome { kEnded, kTimedOut, kInterrupted };

  /// @param ahead  how many jobs may be begun and not taken
  JobBoard(int64_t workers, int64_t ahead);

  /// Puts a job up, under the next number.
  void put(RowJob job);
  /// Waits until the job of that number is there and may be begun, and gives it; it must be ended.
  /// None if the workers are dismissed, and at once where there are none.
  std::optional<RowJob> begin(size_t sequence);
  /// @param rows  those of the job, for which there is no more use but by whoever takes the batch
  void end(size_t sequence, Rows rows);

  /// Waits for the end of a job, or of any that was not taken; without a limit for ever.
  Outcome await(std::optional<size_t> sequence, std::optional<Clock::duration> limit);
  /// The batch of a job that ended was taken; gives the list of its rows back.
  Rows take(size_t sequence);
  /// Whether `await` would not wait for this job, or for any.
  [[nodiscard]] bool is_ready(std::optional<size_t> sequence) const;
  /// How many jobs have ended and were not taken.
  [[nodiscard]] int64_t ready() const;
  [[nodiscard]] size_t taken() const;
  /// Whether every job was taken.
  [[nodiscard]] bool is_empty() const;
  /// What the workers are at, in words.
  [[nodiscard]] std::string describe() const;

  /// Makes running jobs end as soon as they can and begins no other, until `resume` or `reset`.
  void interrupt();
  [[nodiscard]] const std::atomic<bool>& interrupted() const { return interrupted_; }
  /// Waits for the workers that are still at a job, until `patience` after the interrupt; false if
  /// they do not come back, from the system or wherever they are.
  bool await_idle(Clock::duration patience);
  /// Goes on after an interrupt that met no job.
  void resume() { interrupted_ = false; }
  /// Sends the workers home that wait for a job, until `reset`.
  void dismiss();
  /// Forgets all jobs, of which none may be running, and begins to count anew.
  void reset();

 private:
  enum class State { kWaiting, kRunning, kDone, kTaken, kCount };

  struct Posted {
    State state;
    RowJob job;
    Clock::time_point since;  // it runs
  };

  [[nodiscard]] bool may_begin(size_t sequence) const;
  [[nodiscard]] bool is_done(std::optional<size_t> sequence) const;
  [[nodiscard]] const Posted* find(size_t sequence) const;
  [[nodiscard]] size_t& count(State state) { return counts_[static_cast<size_t>(state)]; }
  [[nodiscard]] size_t count(State state) const { return counts_[static_cast<size_t>(state)]; }
  Posted& move(size_t sequence, State to);

  const int64_t workers_;
  const int64_t ahead_;
  std::atomic<bool> interrupted_{false};
  mutable std::mutex mutex_;
  DozingCondition put_;        // the workers wait
  DozingCondition ended_;      // others wait
  std::deque<Posted> posted_;  // from the first that was not taken on
  size_t first_ = 0;           // its number
  size_t taken_ = 0;
  std::array<size_t, static_cast<size_t>(State::kCount)> counts_{};  // of those posted, by state
  bool dismissed_ = false;
  Clock::time_point interrupted_at_;
};

}  // namespace torchfeed
