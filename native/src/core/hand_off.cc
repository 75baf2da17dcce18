// SPDX-License-Identifier: Apache-2.0
#include "core/hand_off.h"

#include <algorithm>

namespace torchfeed {
namespace {

constexpr std::chrono::microseconds kMinPoll{50};  // the system adds about as much
constexpr std::chrono::milliseconds kParkAfter{10};
// Where polls take time from workers: a few polls, which cost less than a wake-up per batch if
// batches are short; if they are not, the next wait begins parked.
constexpr std::chrono::microseconds kParkEarlyAfter{200};
constexpr int kPollsOfWait = 16;  // the poll interval is the wait so far divided by this

}  // namespace

HandOff::HandOff(bool idle_processor)
    : workers_{kParkAfter},
      consumers_{idle_processor ? Clock::duration(kParkAfter) : kParkEarlyAfter} {}

void HandOff::submitted(bool is_behind) { workers_.notify(is_behind); }

void HandOff::completed() { consumers_.notify(false); }

void HandOff::interrupt() {
  workers_.notify(true);
  consumers_.notify(true);
}

void HandOff::Side::notify(bool also_polling) {
  for (Waiter* waiter = first; waiter != nullptr; waiter = waiter->next_) {
    if ((also_polling || waiter->parks_) && waiter->is_over()) {
      waiter->notified_.notify_one();
    }
  }
}

void HandOff::Waiter::enter() {
  next_ = side_.first;
  if (next_ != nullptr) {
    next_->previous_ = this;
  }
  side_.first = this;
}

void HandOff::Waiter::leave() {
  if (next_ != nullptr) {
    next_->previous_ = previous_;
  }
  (previous_ == nullptr ? side_.first : previous_->next_) = next_;
}

bool HandOff::Waiter::wait(Lock& lock, Side& others, std::optional<Clock::duration> limit) {
  if (is_over()) {
    return true;
  }
  others.notify(true);
  enter();
  const Clock::time_point begin = Clock::now();
  const bool parks_at_once = side_.was_parked;
  bool in_time = true;
  while (in_time && !is_over()) {
    const Clock::duration waited = Clock::now() - begin;
    in_time = !limit || waited < *limit;
    if (in_time) {
      parks_ = parks_at_once || waited >= side_.park_after;
      park(lock, waited, limit);
    }
  }
  side_.was_parked = Clock::now() - begin >= side_.park_after;
  leave();
  return in_time;
}

void HandOff::Waiter::park(Lock& lock, Clock::duration waited,
                           std::optional<Clock::duration> limit) {
  const auto poll = std::max<Clock::duration>(kMinPoll, waited / kPollsOfWait);
  if (limit) {
    const Clock::duration left = *limit - waited;
    notified_.wait_for(lock, parks_ ? left : std::min(poll, left));
  } else if (parks_) {
    notified_.wait(lock);
  } else {
    notified_.wait_for(lock, poll);
  }
}

}  // namespace torchfeed
