// SPDX-License-Identifier: Apache-2.0
#include "torch/flight/in_flight.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "torch/flight/future_work.h"
#include "torch/flight/waits_in_flight.h"
#include "torchfeed/error.h"

namespace torchfeed {

using detail::aborted;
using detail::peer_lost;

namespace {

using std::chrono::milliseconds;

/// Time in which an operation whose connections are shut down usually fails by itself.
constexpr milliseconds kGrace(20);
/// The same for a device, whose operations end once another thread has looked at them, which may
/// have to wait for a processor.
constexpr milliseconds kDeviceGrace(5000);

}  // namespace

std::exception_ptr detail::aborted() {
  return std::make_exception_ptr(Error(ErrorCode::kIllegalState, "ProcessGroup was aborted"));
}

std::exception_ptr detail::peer_lost(int64_t rank) {
  return std::make_exception_ptr(Error(
      ErrorCode::kPeerLost, "Connection closed by " + (rank < 0 ? std::string("another rank")
                                                                : "rank " + std::to_string(rank))));
}

bool Needs::certainly(int64_t other, int64_t own, int64_t world_size) const {
  if (pattern == Pattern::kEveryRank) {
    return true;
  }
  if (own == root || other < 0) {
    return false;
  }
  if (pattern == Pattern::kRoot) {
    return other == root;
  }
  // Counted from the root, the parent of a rank has the same number without its lowest bit.
  const int64_t sought = (other - root + world_size) % world_size;
  int64_t sender = (own - root + world_size) % world_size;
  while (sender > 0) {
    sender &= sender - 1;
    if (sender == sought) {
      return true;
    }
  }
  return false;
}

InFlight::InFlight(const detail::GroupSockets& sockets, int64_t rank, int64_t world_size,
                   Limits limits)
    : sockets_(sockets), rank_(rank), world_size_(world_size), limits_(limits) {
  if (!sockets.is_empty()) {
    watch_ = std::thread([this] { watch(); });
  }
}

InFlight::~InFlight() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  for (std::thread* thread : {&watch_, &poll_}) {
    if (thread->joinable()) {
      thread->join();
    }
  }
}

c10::intrusive_ptr<c10d::Work> InFlight::watched(const c10::intrusive_ptr<c10d::Work>& work,
                                                 Needs needs) {
  return add(work, needs, nullptr);
}

c10::intrusive_ptr<c10d::Work> InFlight::add(const c10::intrusive_ptr<c10d::Work>& work,
                                             Needs needs,
                                             const c10::intrusive_ptr<c10d::Work>& device_work,
                                             milliseconds limit) {
  const auto done = work->getFuture();
  const auto operation = std::make_shared<Operation>();
  operation->future =
      c10::make_intrusive<c10::ivalue::Future>(done->elementType(), done->devices());
  operation->needs = needs;
  operation->device_work = device_work;
  operation->limit = limit.count() > 0 ? limit : limits_.timeout;
  operation->first_failed = first_failed_;
  {
    const std::lock_guard lock(mutex_);
    if (*is_aborted_) {
      throw_aborted();
    }
    if (device_work && device_failure_) {
      std::rethrow_exception(device_failure_);
    }
    operation->number = ++begun_;
    operations_.push_back(operation);
    if (device_work) {
      on_device_.push_back(operation);
    }
  }
  if (device_work) {
    changed_.notify_all();
  } else {
    done->addCallback([operation, is_aborted = is_aborted_](c10::ivalue::Future& ended) {
      operation->end_as(ended, *is_aborted);
    });
  }
  return c10::make_intrusive<detail::FutureWork>(operation->future);
}

void InFlight::await(const c10::intrusive_ptr<c10d::Work>& work, Needs needs, milliseconds limit) {
  (void)add(work, needs, nullptr, limit)->wait();
}

std::vector<std::shared_ptr<InFlight::Operation>> InFlight::pending() {
  std::vector<std::shared_ptr<Operation>> pending;
  std::erase_if(operations_, [&](const auto& each) {
    auto operation = each.lock();
    if (!operation || operation->is_ended) {
      return true;
    }
    pending.push_back(std::move(operation));
    return false;
  });
  return pending;
}

/// Tells the other ranks up to which operation they need not wait for this one. The caller holds
/// the lock.
void InFlight::announce_departure() {
  if (!departures_) {
    return;
  }
  note_culprit(losses());
  const auto departures = std::exchange(departures_, nullptr);
  int64_t next = std::min({begun_ + 1, first_failed_->load(), first_failed_batch_});
  for (const auto& operation : pending()) {
    next = std::min(next, operation->number);
  }
  for (const Batch* batch : batches_) {
    next = std::min(next, batch->number().value_or(next));
  }
  const bool is_own = culprit_ >= 0 || !(has_failed_batch_ || has_failed_operation());
  departures->announce({next - 1, is_own ? culprit_ : detail::Departure::kUnknown});
}

void InFlight::abort() {
  std::vector<std::shared_ptr<Operation>> operations;
  {
    const std::lock_guard lock(mutex_);
    announce_departure();
    *is_aborted_ = true;
    operations = pending();
    for (Batch* batch : batches_) {
      batch->wake();
    }
    abort_device(aborted());
  }
  sockets_.shut_down();
  const auto start = Clock::now();
  for (const auto& operation : operations) {
    const auto grace = operation->device_work ? kDeviceGrace : kGrace;
    while (!operation->is_ended && Clock::now() - start < grace) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    operation->end(aborted());
  }
}

bool InFlight::is_idle() {
  const std::lock_guard lock(mutex_);
  return pending().empty() && batches_.empty();
}

bool InFlight::has_failed() const {
  const std::lock_guard lock(mutex_);
  return has_failed_batch_ || has_failed_operation();
}

bool InFlight::has_failed_operation() const {
  return *first_failed_ != std::numeric_limits<int64_t>::max();
}

bool InFlight::is_aborted() const { return *is_aborted_; }

void InFlight::throw_aborted() { std::rethrow_exception(aborted()); }

bool InFlight::is_lost(int64_t rank) const {
  const auto lost = sockets_.lost();
  return std::find(lost.begin(), lost.end(), rank) != lost.end();
}

void InFlight::watch() {
  std::vector<detail::Loss> lost;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, limits_.lap, [&] { return is_closing_; })) {
    if (const auto limit = exceeded()) {
      time_out(lock, *limit);
    }
    const bool is_idle = pending().empty() && batches_.empty();
    // Losses that Gloo reports by itself, it reports within a lap.
    const auto lost_before = std::exchange(lost, is_idle ? std::vector<detail::Loss>() : losses());
    note_culprit(lost);
    if (is_read_behind(!lost.empty())) {
      lost.clear();
      continue;
    }
    if (!lost_before.empty() && !lost.empty()) {
      end_messages_without(lost);
      const auto failures = end_operations_without(lost, Clock::now());
      lock.unlock();  // callbacks of a failure may call this object
      for (const auto& [operation, failure] : failures) {
        operation->end(failure);
      }
      lock.lock();
    }
  }
}

/// Returns whether bytes of a rank that has left are still to be read, since this process is short
/// of processor time: they may complete an operation. The caller holds the lock.
bool InFlight::is_read_behind(bool has_lost) {
  if (!has_lost || !sockets_.has_unread_end()) {
    unread_since_.reset();
    return false;
  }
  const auto now = Clock::now();
  unread_since_ = unread_since_.value_or(now);
  return now - *unread_since_ < limits_.long_quiet;
}

/// Returns how long no byte may have moved while an operation waits after the loss of a rank. A
/// rank that did not tell why may have left after the last operation; then those that need it, and
/// so have begun there, need only bytes that are on their way. If it is not known whether it is
/// needed, another rank may just be late, so more time passes first.
milliseconds InFlight::patience(const Operation& operation, const detail::Loss& loss) const {
  if (loss.departure && loss.departure->operations < operation.number) {
    return milliseconds(0);
  }
  const bool has_died = departures_ && !loss.departure;
  // A device need not use Gloo's tree.
  const bool is_known = !operation.device_work || operation.needs.pattern != Needs::Pattern::kTree;
  return has_died || (is_known && operation.needs.certainly(loss.rank, rank_, world_size_))
             ? limits_.quiet
             : limits_.long_quiet;
}

/// Returns the operations that do not end without the lost ranks.
InFlight::Failures InFlight::end_operations_without(const std::vector<detail::Loss>& losses,
                                                    Clock::time_point now) {
  Failures failures;
  const auto quiet = sockets_.quiet_for();
  for (const auto& operation : pending()) {
    const auto needed =
        std::min_element(losses.begin(), losses.end(), [&](const auto& one, const auto& other) {
          return patience(*operation, one) < patience(*operation, other);
        });
    const auto limit = patience(*operation, *needed);
    const auto age = now - operation->start;
    const bool is_over = limit.count() == 0 || (age > limit && quiet > limit);
    if (world_size_ == 2 ? age > limits_.lap : is_over) {
      culprit_ = culprit_ < 0 && departures_ ? detail::culprit_of(losses) : culprit_;
      failures.emplace_back(operation, peer_lost(departures_ ? culprit_ : needed->rank));
      if (operation->device_work) {
        abort_device(failures.back().second);
      }
    }
  }
  return failures;
}

}  // namespace torchfeed
