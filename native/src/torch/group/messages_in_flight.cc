// SPDX-License-Identifier: Apache-2.0
#include "torch/group/messages_in_flight.h"

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
    fail(part->message.peer);
  }
}

void InFlight::Batch::fail(int64_t rank) {
  failure_ = detail::peer_lost(rank);
  wake();
}

void InFlight::await_message(const c10::intrusive_ptr<c10d::Work>& work, int64_t peer) {
  await_messages({{work, peer}});
}

void InFlight::await_messages(std::vector<Message> messages) {
  Batch batch(std::move(messages));
  {
    const std::lock_guard lock(mutex_);
    batches_.insert(&batch);
  }
  const auto leave = [&] {
    const std::lock_guard lock(mutex_);
    batches_.erase(&batch);
  };
  try {
    while (await_next(batch)) {
    }
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

/// Waits for a message, or until woken; returns false if there is none.
bool InFlight::await_next(Batch& batch) {
  c10d::Work* work = nullptr;
  auto limit = kNoTimeout;
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
    if (limits_.messages.count() > 0) {
      const auto left = limits_.messages - batch.age();
      limit = std::max(std::chrono::milliseconds(1),
                       std::chrono::duration_cast<std::chrono::milliseconds>(left));
    }
  }
  const bool is_done = work->wait(limit);
  const std::lock_guard lock(mutex_);
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
    if (is_unknown && batch->age() > limits_.quiet && sockets_.quiet_for() > limits_.quiet) {
      batch->fail(-1);
    }
  }
}

}  // namespace torchfeed
