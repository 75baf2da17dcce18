// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace torchfeed {

/// Runs calls one at a time, in the order in which they arrive: in the thread of a caller that
/// waits for its call anyway, else in a thread of the lane, which ends after a while without calls.
class SerialLane : public std::enable_shared_from_this<SerialLane> {
 public:
  /// @param idle_limit  how long the thread waits for a call before it ends
  explicit SerialLane(std::chrono::milliseconds idle_limit) : idle_limit_(idle_limit) {}
  SerialLane(const SerialLane&) = delete;
  SerialLane& operator=(const SerialLane&) = delete;

  /// Runs `call` in this thread once its turn has come.
  void run(const std::function<void()>& call);
  /// Queues `call`, and `done` for when its turn has ended; neither may throw.
  void post(std::function<void()> call, std::function<void()> done);
  /// Returns whether a call is running or waiting for its turn.
  [[nodiscard]] bool is_busy() const;

 private:
  struct Posted {
    uint64_t turn;
    std::function<void()> call;
    std::function<void()> done;
  };

  void work();
  void end_turn();

  const std::chrono::milliseconds idle_limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Posted> posted_;
  uint64_t next_ = 0;
  uint64_t turn_ = 0;
  bool has_thread_ = false;
};

}  // namespace torchfeed
