// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace torchfeed {

/// The waiting protocol between the consumer of a loader and its workers. Its mutex guards the
/// state that both sides examine.
///
/// Waking a parked thread costs the waking thread 10 to 130 us, as much as gathering a small batch.
/// A waiter therefore first polls for a few milliseconds, unless the last wait of its side was
/// longer, and is notified only once it has parked. Polls can be 20 ms late on a busy host.
/// Therefore a thread that is about to wait, and so has time to spare, first notifies the waiters
/// of the other side whose wait is over, and a submission also notifies a polling worker when the
/// workers have fallen behind. Waiting allocates nothing, so it cannot fail.
class HandOff {
 public:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  /// @param idle_processor  whether a processor is free for a polling consumer; otherwise it polls
  ///                        for a fraction of a millisecond only, since polls take time from the
  ///                        workers
  explicit HandOff(bool idle_processor);
  HandOff(const HandOff&) = delete;
  HandOff& operator=(const HandOff&) = delete;
  ~HandOff() = default;

  [[nodiscard]] Lock lock() const { return Lock(mutex_); }

  /// Notifies parked workers of new work. The caller must hold the lock.
  ///
  /// @param is_behind  whether the workers have fallen behind, so that polling ones are notified
  ///                   too
  void submitted(bool is_behind);
  /// Notifies parked consumers of a result. The caller must hold the lock.
  void completed();
  /// Notifies all waiters whose wait is over. The caller must hold the lock.
  void interrupt();

  /// Waits, as a worker, until `over()` returns true.
  template <class Over>
  void await_work(Lock& lock, Over over) {
    Waiter waiter(workers_, over);
    waiter.wait(lock, consumers_, std::nullopt);
  }
  /// Waits, as a consumer, until `over()` returns true; returns false if the limit comes first.
  template <class Over>
  bool await_result(Lock& lock, std::optional<Clock::duration> limit, Over over) {
    Waiter waiter(consumers_, over);
    return waiter.wait(lock, workers_, limit);
  }

 private:
  class Waiter;

  struct Side {
    explicit Side(Clock::duration polls) : park_after(polls) {}

    void notify(bool also_polling);

    const Clock::duration park_after;  // how long a waiter polls
    bool was_parked = false;           // at the end of the last wait
    Waiter* first = nullptr;
  };

  /// The wait of one thread, a node in the list of its side.
  class Waiter {
   public:
    template <class Over>
    Waiter(Side& side, Over& over)
        : side_(side),
          over_(&over),
          is_over_([](void* object) -> bool { return (*static_cast<Over*>(object))(); }) {}

    bool wait(Lock& lock, Side& others, std::optional<Clock::duration> limit);

   private:
    friend struct Side;

    [[nodiscard]] bool is_over() const { return is_over_(over_); }
    void park(Lock& lock, Clock::duration waited, std::optional<Clock::duration> limit);
    void enter();
    void leave();

    Side& side_;
    void* const over_;
    bool (*const is_over_)(void*);
    bool parks_ = false;
    std::condition_variable notified_;
    Waiter* next_ = nullptr;
    Waiter* previous_ = nullptr;
  };

  mutable std::mutex mutex_;
  Side workers_;
  Side consumers_;
};

}  // namespace torchfeed
