// SPDX-License-Identifier: Apache-2.0
#include "torch/in_flight.h"

#include <chrono>
#include <memory>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

/// Time in which an operation whose connections are shut down usually fails by itself.
constexpr std::chrono::milliseconds kGrace(20);

/// Holds an element in a set, under its mutex.
template <class T>
class Entry {
 public:
  Entry(std::mutex& mutex, std::set<T*>& set, T* element)
      : mutex_(mutex), set_(set), element_(element) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() {
    const std::lock_guard lock(mutex_);
    set_.erase(element_);
  }

 private:
  std::mutex& mutex_;
  std::set<T*>& set_;
  T* element_;
};

}  // namespace

void InFlight::await(const c10::intrusive_ptr<c10d::Work>& work) {
  const auto wait = std::make_shared<Wait>();
  {
    const std::lock_guard lock(mutex_);
    wait->is_aborted = is_aborted_;
    waits_.insert(wait.get());
  }
  const Entry entry(mutex_, waits_, wait.get());
  const auto future = work->getFuture();
  future->addCallback([wait](c10::ivalue::Future&) {
    const std::lock_guard lock(wait->mutex);
    wait->is_done = true;
    wait->changed.notify_all();
  });
  std::unique_lock lock(wait->mutex);
  wait->changed.wait(lock, [&] { return wait->is_done || wait->is_aborted; });
  if (!wait->changed.wait_for(lock, kGrace, [&] { return wait->is_done; })) {
    throw_aborted();
  }
  if (future->hasError()) {
    std::rethrow_exception(future->exception_ptr());
  }
}

void InFlight::await_message(const c10::intrusive_ptr<c10d::Work>& work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_aborted_) {
      throw_aborted();
    }
    messages_.insert(work.get());
  }
  const Entry entry(mutex_, messages_, work.get());
  if (!work->wait()) {
    throw_aborted();
  }
}

void InFlight::abort() {
  const std::lock_guard lock(mutex_);
  is_aborted_ = true;
  for (Wait* wait : waits_) {
    const std::lock_guard wait_lock(wait->mutex);
    wait->is_aborted = true;
    wait->changed.notify_all();
  }
  for (c10d::Work* message : messages_) {
    message->abort();
  }
}

bool InFlight::is_aborted() const {
  const std::lock_guard lock(mutex_);
  return is_aborted_;
}

void InFlight::throw_aborted() {
  throw Error(ErrorCode::kIllegalState, "ProcessGroup was aborted");
}

}  // namespace torchfeed
