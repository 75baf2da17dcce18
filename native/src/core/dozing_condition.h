// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <optional>

namespace torchfeed {

/// A condition whose waiters look for themselves for a few milliseconds before they sleep until
/// they are woken. Waking a thread of an idle processor takes its waker as long as copying a
/// batch; looking takes the waiter's own time, of which it has enough. For the holder of the lock.
class DozingCondition {
 public:
  using Clock = std::chrono::steady_clock;
  using Predicate = std::function<bool()>;

  /// @param naps  false where no processor is idle: a nap would only disturb who is at work
  explicit DozingCondition(bool naps = true) : naps_(naps) {}

  /// Waits until `met`; false if the limit came first.
  bool wait(std::unique_lock<std::mutex>& lock, std::optional<Clock::duration> limit,
            const Predicate& met);
  /// Wakes those that sleep and need not wait any more.
  void changed();
  /// Wakes those that doze, too.
  void changed_now();

 private:
  struct Waiter;

  const bool naps_;
  std::list<Waiter*> waiters_;
};

}  // namespace torchfeed
