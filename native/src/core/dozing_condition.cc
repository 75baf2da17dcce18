// SPDX-License-Identifier: Apache-2.0
#include "core/dozing_condition.h"

#include <algorithm>
#include <condition_variable>

namespace torchfeed {
namespace {

constexpr std::chrono::microseconds kShortestNap{50};  // the system adds as much
constexpr std::chrono::milliseconds kAsleepAfter{10};
constexpr int kNapsOfWait = 16;  // a nap is this part of the wait so far

}  // namespace

struct DozingCondition::Waiter {
  explicit Waiter(const Predicate& what) : met(what) {}

  const Predicate& met;
  bool asleep = false;
  std::condition_variable woken;

  void wait(std::unique_lock<std::mutex>& lock, bool naps, Clock::duration waited,
            std::optional<Clock::duration> limit) {
    asleep = !naps || waited >= kAsleepAfter;
    const auto nap = std::max<Clock::duration>(kShortestNap, waited / kNapsOfWait);
    if (limit) {
      const Clock::duration left = *limit - waited;
      woken.wait_for(lock, asleep ? left : std::min(nap, left));
    } else if (asleep) {
      woken.wait(lock);
    } else {
      woken.wait_for(lock, nap);
    }
  }
};

bool DozingCondition::wait(std::unique_lock<std::mutex>& lock, std::optional<Clock::duration> limit,
                           const Predicate& met) {
  if (met()) {
    return true;
  }
  Waiter waiter(met);
  const auto place = waiters_.insert(waiters_.end(), &waiter);
  const Clock::time_point begin = Clock::now();
  bool in_time = true;
  while (in_time && !met()) {
    const Clock::duration waited = Clock::now() - begin;
    in_time = !limit || waited < *limit;
    if (in_time) {
      waiter.wait(lock, naps_, waited, limit);
    }
  }
  waiters_.erase(place);
  return in_time;
}

void DozingCondition::changed() {
  for (Waiter* waiter : waiters_) {
    if (waiter->asleep && waiter->met()) {
      waiter->woken.notify_one();
    }
  }
}

void DozingCondition::changed_now() {
  for (Waiter* waiter : waiters_) {
    if (waiter->met()) {
      waiter->woken.notify_one();
    }
  }
}

}  // namespace torchfeed
