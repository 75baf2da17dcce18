// SPDX-License-Identifier: Apache-2.0
// How the operations of a group learn which rank is lost, and tell when this one leaves.
#include <algorithm>

#include "torch/group/in_flight.h"

namespace torchfeed {

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
  if (culprit_ < 0) {
    const auto lost = losses();
    if (!departures_) {
      return lost.empty() ? -1 : lost.front().rank;
    }
    culprit_ = detail::culprit_of(lost);
  }
  return culprit_;
}

}  // namespace torchfeed
