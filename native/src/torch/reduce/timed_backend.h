// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

namespace torchfeed::detail {

/// The reductions of buckets since the last `restart`, in the order of their calls. Thread-safe:
/// they end on threads of the backend.
class ReductionLog {
 public:
  using Clock = std::chrono::steady_clock;

  struct Entry {
    int64_t bytes = 0;
    int64_t sent_bytes = 0;
    Clock::time_point start;
    Clock::time_point end;  // not set while the operation runs
  };

  void restart();
  /// Adds an operation that starts now; returns its number.
  size_t begin(int64_t bytes, int64_t sent_bytes);
  /// Notes the end of an operation; none if it began before the last `restart`.
  void end(size_t number);
  /// Notes the end of an operation, and the bytes that it has sent.
  void end(size_t number, int64_t sent_bytes);
  /// Returns the entries; operations that are still running end now.
  [[nodiscard]] std::vector<Entry> entries() const;

 private:
  mutable std::mutex mutex_;
  size_t first_ = 0;  // the number of the first entry
  std::vector<Entry> entries_;
};

/// Returns a group over the backends of `group` that notes the all-reduces of gradients in `log`.
/// It has the two operations of `c10d::Reducer`: all-reduce and broadcast.
c10::intrusive_ptr<c10d::ProcessGroup> timed_group(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group, std::shared_ptr<ReductionLog> log);

}  // namespace torchfeed::detail
