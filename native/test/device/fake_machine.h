// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace torchfeed::fake {

/// The numbers of the latest recordings of an event: queued, and executed.
struct EventState {
  uint64_t queued = 0;
  uint64_t done = 0;
  int64_t at = 0;  // the time of the latter, by the clock of its stream, in nanoseconds
};

struct Work {
  std::function<void(int64_t)> body;  // the work, which ends at a time; empty if it is a wait
  std::shared_ptr<EventState> event;  // the event to wait for, or null
  uint64_t version = 0;               // the recording of the event to wait for
  int64_t copied = 0;                 // number of bytes that it copies to the device
  int64_t since = 0;                  // the time at which it was queued; only at a pace
};

/// The speed of copies to the device.
struct Pace {
  double bytes_per_nano = 1;
  int64_t nanos_each = 0;
};

/// The queues of all streams. Work runs under the lock, one item at a time.
///
/// Each stream has a clock that only copies advance, and waits for streams that are later: by
/// default a nanosecond per byte, whatever the host's clock says. With `keep_pace`, these are times
/// of the host's clock: work is over once its end has come, and copies to the device go one after
/// the other. Then no thread executes the work, but each call that asks for it.
class Machine {
 public:
  using Key = std::pair<int8_t, c10::StreamId>;

  void enqueue(const c10::Stream& stream, std::function<void()> body) {
    add(stream, {[run = std::move(body)](int64_t /*end*/) { run(); }, nullptr});
  }

  void enqueue_copy(const c10::Stream& stream, int64_t bytes, std::function<void()> body) {
    add(stream, {[run = std::move(body)](int64_t /*end*/) { run(); }, nullptr, 0, bytes});
  }

  void enqueue_wait(const c10::Stream& stream, const std::shared_ptr<EventState>& event) {
    add(stream, {nullptr, event, event->queued});
  }

  void record(const c10::Stream& stream, const std::shared_ptr<EventState>& event) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    const uint64_t version = ++event->queued;
    add(stream, {[event, version](int64_t end) {
                   event->done = version;
                   event->at = end;
                 },
                 nullptr});
  }

  bool is_done(const EventState& event) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    catch_up();
    return event.done == event.queued;
  }

  bool step(const Key& key) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    auto& queue = queues_[key];
    if (queue.empty()) {
      return false;
    }
    if (queue.front().event && queue.front().event->done < queue.front().version) {
      return false;
    }
    int64_t& clock = clocks_[key];
    const int64_t end = end_of(queue.front(), clock);
    if (keeps_pace_ && end > now()) {
      return false;
    }
    const Work work = std::move(queue.front());
    queue.pop_front();
    clock = end;
    if (work.copied > 0) {
      copied_until_ = end;
    }
    if (work.body) {
      work.body(end);
    }
    progress_.notify_all();
    return true;
  }

  void run_all() {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    for (bool any = true; any;) {
      any = false;
      for (const Key& key : keys()) {
        while (step(key)) {
          any = true;
        }
      }
    }
  }

  template <class Condition>
  void await(Condition&& done) {
    std::unique_lock<std::recursive_mutex> lock(mutex_);
    while (!done()) {
      if (keeps_pace_) {
        progress_.wait_for(lock, kLook);
        catch_up();
      } else if (threaded_) {
        progress_.wait(lock);
      } else {
        run_all();
        TORCH_CHECK(done(), "the fake device is deadlocked");
      }
    }
  }

  bool is_idle(const Key& key) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    catch_up();
    return queues_[key].empty();
  }

  std::vector<Key> keys() {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    std::vector<Key> busy;
    for (const auto& [key, queue] : queues_) {
      if (!queue.empty()) {
        busy.push_back(key);
      }
    }
    return busy;
  }

  int64_t queued(int8_t device) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    int64_t sum = 0;
    for (const auto& [key, queue] : queues_) {
      sum += key.first == device ? static_cast<int64_t>(queue.size()) : 0;
    }
    return sum;
  }

  void keep_pace(const Pace& pace) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    pace_ = pace;
    keeps_pace_ = true;
  }

  [[nodiscard]] bool keeps_pace() const { return keeps_pace_; }

  void run_by_thread(uint32_t seed) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (std::exchange(threaded_, true)) {
      return;
    }
    std::thread([this, seed] { work_for_ever(seed); }).detach();
  }

 private:
  static constexpr std::chrono::microseconds kLook{20};

  static int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

  /// Returns the time at which the first work of a stream ends, by the stream's clock.
  [[nodiscard]] int64_t end_of(const Work& work, int64_t clock) const {
    int64_t begin = std::max(clock, work.since);
    if (work.event) {
      return std::max(begin, work.event->at);
    }
    if (work.copied == 0) {
      return begin;
    }
    if (keeps_pace_) {
      begin = std::max(begin, copied_until_);
    }
    return begin + pace_.nanos_each +
           static_cast<int64_t>(static_cast<double>(work.copied) / pace_.bytes_per_nano);
  }

  /// Executes the work that is over by now.
  void catch_up() {
    if (keeps_pace_) {
      run_all();
    }
  }

  void add(const c10::Stream& stream, Work work) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (keeps_pace_) {
      work.since = now();
    }
    queues_[{stream.device_index(), stream.id()}].push_back(std::move(work));
    progress_.notify_all();
  }

  void work_for_ever(uint32_t seed) {
    std::mt19937 random(seed);
    std::unique_lock<std::recursive_mutex> lock(mutex_);
    while (true) {
      std::vector<Key> busy = keys();
      bool any = false;
      while (!busy.empty() && !any) {
        const size_t chosen = random() % busy.size();
        any = step(busy[chosen]);
        busy.erase(busy.begin() + static_cast<std::ptrdiff_t>(chosen));
      }
      if (!any) {
        progress_.wait(lock);
      } else if (random() % 4 == 0) {
        lock.unlock();  // let the host make progress
        std::this_thread::yield();
        lock.lock();
      }
    }
  }

  std::recursive_mutex mutex_;
  std::condition_variable_any progress_;
  std::map<Key, std::deque<Work>> queues_;
  std::map<Key, int64_t> clocks_;
  Pace pace_;
  int64_t copied_until_ = 0;  // at a pace
  std::atomic<bool> keeps_pace_{false};
  bool threaded_ = false;
};

/// Never destroyed: tensors may outlive it.
inline Machine& machine() {
  static Machine& instance = *std::make_unique<Machine>().release();
  return instance;
}

}  // namespace torchfeed::fake
