// SPDX-License-Identifier: Apache-2.0
#include "torch/flight/waits_in_flight.h"

namespace torchfeed {

const InFlight::Message* InFlight::Batch::next() {
  const auto is_open = [](const Part& part) { return !part.is_done; };
  auto part = parts_.begin() + static_cast<std::ptrdiff_t>(preferred_);
  if (part == parts_.end() || part->is_done) {
    part = std::find_if(parts_.begin(), parts_.end(), is_open);
  }
  if (part == parts_.end()) {
    return nullptr;
  }
  awaited_ = static_cast<size_t>(part - parts_.begin());
  since_ = Clock::now();
  return &part->message;
}

void InFlight::Batch::lose(const std::vector<int64_t>& lost, bool is_any,
                           std::chrono::milliseconds lap) {
  const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& each) {
    return !each.is_done &&
           (is_any || std::find(lost.begin(), lost.end(), each.message.peer) != lost.end());
  });
  if (part == parts_.end()) {
    return;
  }
  preferred_ = static_cast<size_t>(part - parts_.begin());
  if (preferred_ != awaited_) {
    wake();
  } else if (Clock::now() - since_ > lap) {
    fail(detail::peer_lost(part->message.peer));
  }
}

void InFlight::Batch::fail(std::exception_ptr failure) {
  failure_ = std::move(failure);
  wake();
}

std::vector<int64_t> InFlight::Batch::open_peers() const {
  std::vector<int64_t> receivers;
  std::vector<int64_t> senders;
  for (const auto& part : parts_) {
    if (!part.is_done) {
      (part.message.is_sent ? receivers : senders).push_back(part.message.peer);
    }
  }
  return senders.empty() ? receivers : senders;
}

void InFlight::await_message(const c10::intrusive_ptr<c10d::Work>& work, int64_t peer) {
  await_batch({{work, peer}}, /*is_collective=*/false, {});
}

void InFlight::await_messages(std::vector<Message> messages, std::chrono::milliseconds limit) {
  await_batch(std::move(messages), /*is_collective=*/true, limit);
}

void InFlight::await_batch(std::vector<Message> messages, bool is_collective,
                           std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  Batch batch(std::move(messages), is_collective ? std::optional(++begun_) : std::nullopt,
              limit.count() > 0 ? limit : limits_.timeout);
  batches_.insert(&batch);
  lock.unlock();
  const auto leave = [&](bool has_failed) {
    lock.lock();
    batches_.erase(&batch);
    has_failed_batch_ = has_failed_batch_ || has_failed;
    if (has_failed) {
      first_failed_batch_ =
          std::min(first_failed_batch_, batch.number().value_or(first_failed_batch_));
    }
  };
  try {
    while (await_next(batch)) {
    }
  } catch (...) {
    leave(/*has_failed=*/true);
    throw;
  }
  leave(/*has_failed=*/false);
}

/// Waits for a message, or until woken; returns false if there is none.
bool InFlight::await_next(Batch& batch) {
  c10d::Work* work = nullptr;
  const auto limit =
      batch.limit().count() > 0 ? batch.limit() + detail::kBeyondTimeout : kNoTimeout;
  {
    const std::lock_guard lock(mutex_);
    if (*is_aborted_) {
      throw_aborted();
    }
    const Message* message = batch.next();
    if (message == nullptr) {
      return false;
    }
    work = message->work.get();
  }
  bool is_done = false;
  std::exception_ptr broken;
  try {
    is_done = work->wait(limit);
  } catch (const std::exception&) {
    broken = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  if (broken) {  // perhaps by that failure
    std::rethrow_exception(batch.failure() ? batch.failure() : broken);
  }
  if (is_done) {
    batch.note_done();
  } else if (batch.failure()) {
    std::rethrow_exception(batch.failure());
  }
  return true;
}

/// Wakes the threads that wait for a message that a lost rank cannot send or take. Which rank is
/// lost may be unknown; then one of those that have not sent theirs may just be late, so more time
/// passes first.
void InFlight::end_messages_without(const std::vector<detail::Loss>& losses) {
  std::vector<int64_t> lost;
  for (const auto& loss : losses) {
    lost.push_back(loss.rank);
  }
  const bool is_unknown = std::find(lost.begin(), lost.end(), -1) != lost.end();
  for (Batch* batch : batches_) {
    batch->lose(lost, world_size_ == 2, limits_.lap);
    if (is_without(*batch, losses)) {
      culprit_ = culprit_ < 0 ? detail::culprit_of(losses) : culprit_;
      batch->fail(detail::peer_lost(culprit_));
    }
    if (is_unknown && batch->age() > limits_.quiet && sockets_.quiet_for() > limits_.quiet) {
      batch->fail(detail::peer_lost(-1));
    }
  }
}

/// Returns whether a collective operation has lost a rank that did not complete it. The messages of
/// that one may all be there, while another rank has failed for its loss and sends none.
bool InFlight::is_without(const Batch& batch, const std::vector<detail::Loss>& losses) const {
  if (!batch.number() || !departures_) {
    return false;
  }
  const bool is_quiet = batch.age() > limits_.quiet && sockets_.quiet_for() > limits_.quiet;
  return std::any_of(losses.begin(), losses.end(), [&](const detail::Loss& loss) {
    return loss.departure ? loss.departure->operations < *batch.number() : is_quiet;
  });
}

}  // namespace torchfeed
