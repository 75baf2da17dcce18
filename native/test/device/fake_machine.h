// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

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
};

struct Work {
  std::function<void()> body;         // the work; empty if it is a wait
  std::shared_ptr<EventState> event;  // the event to wait for, or null
  uint64_t version = 0;               // the recording of the event to wait for
};

/// The queues of all streams. Work runs under the lock, one item at a time.
class Machine {
 public:
  using Key = std::pair<int8_t, c10::StreamId>;

  void enqueue(const c10::Stream& stream, std::function<void()> body) {
    add(stream, {std::move(body), nullptr});
  }

  void enqueue_wait(const c10::Stream& stream, const std::shared_ptr<EventState>& event) {
    add(stream, {nullptr, event, event->queued});
  }

  void record(const c10::Stream& stream, const std::shared_ptr<EventState>& event) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    const uint64_t version = ++event->queued;
    enqueue(stream, [event, version] { event->done = version; });
  }

  bool is_done(const EventState& event) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return event.done == event.queued;
  }

  bool step(const Key& key) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    auto& queue = queues_[key];
    if (queue.empty()) {
      return false;
    }
    const Work work = queue.front();
    if (work.event && work.event->done < work.version) {
      return false;
    }
    queue.pop_front();
    if (work.body) {
      work.body();
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
      if (threaded_) {
        progress_.wait(lock);
      } else {
        run_all();
        TORCH_CHECK(done(), "the fake device is deadlocked");
      }
    }
  }

  bool is_idle(const Key& key) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
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

  void run_by_thread(uint32_t seed) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (std::exchange(threaded_, true)) {
      return;
    }
    std::thread([this, seed] { work_for_ever(seed); }).detach();
  }

 private:
  void add(const c10::Stream& stream, Work work) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
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
  bool threaded_ = false;
};

/// Never destroyed: tensors may outlive it.
inline Machine& machine() {
  static Machine& instance = *std::make_unique<Machine>().release();
  return instance;
}

}  // namespace torchfeed::fake
