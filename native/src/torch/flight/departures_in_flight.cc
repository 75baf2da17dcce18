// SPDX-License-Identifier: Apache-2.0
// How the operations of a group learn which rank is lost, and tell when this one leaves.
#include <algorithm>
#include <string>

#include "torch/flight/in_flight.h"
#include "torch/flight/waits_in_flight.h"
#include "torchfeed/error.h"

namespace torchfeed {

namespace {

/// Time that the callers of operations have after a timeout, before the other ranks notice it.
constexpr std::chrono::milliseconds kLastWords(300);

}  // namespace

void InFlight::exchange_departures(c10d::Backend& backend) {
  const std::lock_guard lock(mutex_);
  departures_ = std::make_unique<detail::Departures>(backend);
}

void InFlight::leave() {
  const std::lock_guard lock(mutex_);
  announce_departure();
}

/// Returns the ranks whose connections have ended. The caller holds the lock.
std::vector<detail::Loss> InFlight::losses() {
  if (departures_) {
    return departures_->losses();
  }
  std::vector<detail::Loss> losses;
  for (const int64_t rank : sockets_.lost()) {
    losses.push_back({rank, std::nullopt});
  }
  return losses;
}

/// Keeps the rank whose loss is the first that is known. One that has left may have done so after
/// its last operation, so it is kept only once an operation fails. The caller holds the lock.
void InFlight::note_culprit(const std::vector<detail::Loss>& losses) {
  if (culprit_ < 0 && !losses.empty()) {
    if (!departures_) {
      culprit_ = losses.front().rank;
    } else if (detail::has_died(losses)) {
      culprit_ = detail::culprit_of(losses);
    }
  }
}

int64_t InFlight::lost_rank() {
  const std::lock_guard lock(mutex_);
  if (culprit_ < 0 && !has_timed_out_) {
    const auto lost = losses();
    if (!departures_) {
      return lost.empty() ? -1 : lost.front().rank;
    }
    culprit_ = detail::culprit_of(lost);
  }
  return culprit_;
}

int64_t InFlight::lost_with(int64_t rank) {
  const std::lock_guard lock(mutex_);
  if (has_timed_out_) {
    return culprit_;
  }
  const auto lost = losses();
  const bool is_lost =
      std::any_of(lost.begin(), lost.end(), [&](const auto& loss) { return loss.rank == rank; });
  if (!is_lost) {
    return kNotLost;
  }
  const int64_t culprit = departures_ ? detail::culprit_of(lost, rank) : rank;
  culprit_ = culprit_ < 0 ? culprit : culprit_;
  return departures_ ? culprit : culprit_;
}

/// Returns the limit for which an operation has waited, if one has. The caller holds the lock.
std::optional<std::chrono::milliseconds> InFlight::exceeded() {
  if (has_timed_out_) {
    return std::nullopt;
  }
  for (const Batch* batch : batches_) {
    if (batch->is_overdue()) {
      return batch->limit();
    }
  }
  for (const auto& operation : pending()) {
    if (operation->is_overdue()) {
      return operation->limit;
    }
  }
  return std::nullopt;
}

/// Fails all operations, after the others have been told why this rank leaves: Gloo would end the
/// connections first. They notice it a little later, so that they find the words that the callers
/// of the operations leave in the store.
void InFlight::time_out(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit) {
  const auto failure = std::make_exception_ptr(
      Error(ErrorCode::kTimeout,
            "no answer within the timeout of " + std::to_string(limit.count()) + " ms"));
  note_culprit(losses());
  culprit_ = culprit_ < 0 ? silent_rank() : culprit_;
  has_failed_batch_ = true;
  announce_departure();
  has_timed_out_ = true;
  for (Batch* batch : batches_) {
    batch->fail(failure);
  }
  abort_device(failure);
  const auto operations = pending();
  lock.unlock();  // callbacks of a failure may call this object
  for (const auto& operation : operations) {
    operation->end(failure);
  }
  lock.lock();
  changed_.wait_for(lock, kLastWords, [&] { return is_closing_; });
  lock.unlock();
  sockets_.shut_down();
  lock.lock();
}

/// Returns the only rank of which an answer is missing; -1 if there are several. The caller holds
/// the lock.
int64_t InFlight::silent_rank() const {
  int64_t silent = -1;
  for (const Batch* batch : batches_) {
    for (const int64_t peer : batch->is_overdue() ? batch->open_peers() : std::vector<int64_t>()) {
      if (silent >= 0 && peer != silent) {
        return -1;
      }
      silent = peer;
    }
  }
  return silent;
}

}  // namespace torchfeed
