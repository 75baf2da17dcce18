// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "torch/flight/in_flight.h"

namespace torchfeed {

namespace detail {

[[nodiscard]] std::exception_ptr aborted();
/// @param rank  -1 if unknown
[[nodiscard]] std::exception_ptr peer_lost(int64_t rank);

}  // namespace detail

/// A collective operation, which ends once.
struct InFlight::Operation {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  Needs needs;
  c10::intrusive_ptr<c10d::Work> device_work;  // null unless a device does it
  int64_t number;                              // in the order in which all ranks begin them
  std::chrono::milliseconds limit;             // of the wait; 0: none
  std::shared_ptr<std::atomic<int64_t>> first_failed;
  Clock::time_point start = Clock::now();
  std::atomic<bool> is_ended{false};

  void end(const std::exception_ptr& failure) {
    if (!is_ended.exchange(true)) {
      int64_t first = *first_failed;
      while (number < first && !first_failed->compare_exchange_weak(first, number)) {
      }
      future->setError(failure);
    }
  }

  [[nodiscard]] bool is_overdue() const {
    return limit.count() > 0 && Clock::now() - start > limit;
  }

  void end_as(c10::ivalue::Future& done, bool is_aborted) {
    if (done.hasError()) {
      end(is_aborted ? detail::aborted() : done.exception_ptr());
    } else if (!is_ended.exchange(true)) {
      future->markCompleted(done.value());
    }
  }
};

/// Messages that a thread awaits together, one after the other. The caller holds the lock.
class InFlight::Batch {
 public:
  /// @param number  of a collective operation, in the order in which all ranks begin them
  /// @param limit  of the wait; 0: none
  Batch(std::vector<Message> messages, std::optional<int64_t> number,
        std::chrono::milliseconds limit)
      : number_(number), limit_(limit) {
    parts_.reserve(messages.size());
    for (auto& message : messages) {
      parts_.push_back({std::move(message)});
    }
  }

  /// Chooses the message to wait for; returns null if all are done.
  [[nodiscard]] const Message* next();
  /// Notes that the message chosen last is done.
  void note_done() { parts_[awaited_].is_done = true; }
  /// Wakes the thread.
  void wake() { parts_[awaited_].message.work->abort(); }
  /// Fails if a message that is not done needs a lost peer. If the thread waits for another, that
  /// message is awaited first: it may be there already.
  void lose(const std::vector<int64_t>& lost, bool is_any, std::chrono::milliseconds lap);
  void fail(std::exception_ptr failure);

  /// Returns the ranks whose messages are not known to be there or, if all are, those that do not
  /// take this rank's.
  [[nodiscard]] std::vector<int64_t> open_peers() const;
  [[nodiscard]] std::optional<int64_t> number() const { return number_; }
  [[nodiscard]] std::exception_ptr failure() const { return failure_; }
  [[nodiscard]] Clock::duration age() const { return Clock::now() - start_; }
  [[nodiscard]] std::chrono::milliseconds limit() const { return limit_; }
  [[nodiscard]] bool is_overdue() const { return limit_.count() > 0 && age() > limit_; }

 private:
  struct Part {
    Message message;
    bool is_done = false;
  };

  const std::optional<int64_t> number_;
  const std::chrono::milliseconds limit_;
  std::vector<Part> parts_;
  size_t awaited_ = 0;
  size_t preferred_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point since_ = start_;  // when the wait for the message chosen last began
  std::exception_ptr failure_;
};

}  // namespace torchfeed
