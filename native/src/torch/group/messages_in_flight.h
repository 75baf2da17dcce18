// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "torch/group/in_flight.h"

namespace torchfeed {

namespace detail {

/// @param rank  -1 if unknown
[[nodiscard]] std::exception_ptr peer_lost(int64_t rank);

}  // namespace detail

/// Messages that a thread awaits together, one after the other. The caller holds the lock.
class InFlight::Batch {
 public:
  /// @param number  of a collective operation, in the order in which all ranks begin them
  Batch(std::vector<Message> messages, std::optional<int64_t> number) : number_(number) {
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
  /// Fails for the loss of a rank.
  void fail(int64_t rank);

  [[nodiscard]] std::optional<int64_t> number() const { return number_; }
  [[nodiscard]] std::exception_ptr failure() const { return failure_; }
  [[nodiscard]] Clock::duration age() const { return Clock::now() - start_; }

 private:
  struct Part {
    Message message;
    bool is_done = false;
  };

  const std::optional<int64_t> number_;
  std::vector<Part> parts_;
  size_t awaited_ = 0;
  size_t preferred_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point since_ = start_;  // when the wait for the message chosen last began
  std::exception_ptr failure_;
};

}  // namespace torchfeed
