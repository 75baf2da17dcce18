// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "torch/gloo_mesh.h"

namespace torchfeed {

/// The operations of a group that have not ended. Those that Gloo forgets are ended here: by
/// `abort`, and by a thread that looks for lost connections.
///
/// Gloo does not wake a wait for a send whose connection breaks while the send is written
/// (`Pair::signalException` skips the unbound buffers in `tx_`), so that the wait ends only with
/// the group's timeout. Thread-safe.
class InFlight {
 public:
  /// The ranks that an operation waits for.
  enum class Needs {
    kEveryRank,  ///< No rank can be done before each has begun.
    kSomeRanks,
  };

  InFlight(const detail::GroupSockets& sockets, int64_t world_size);
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight();

  /// Returns an operation that ends when `work`, a collective one, does, and fails when the group
  /// is aborted, or a rank that it needs is lost. `work` keeps its tensors: Gloo may still use
  /// them. Throws `ILLEGAL_STATE` if the group is aborted.
  [[nodiscard]] c10::intrusive_ptr<c10d::Work> watched(const c10::intrusive_ptr<c10d::Work>& work,
                                                       Needs needs = Needs::kEveryRank);
  /// Waits for `watched(work, needs)`.
  void await(const c10::intrusive_ptr<c10d::Work>& work, Needs needs = Needs::kEveryRank);
  /// Waits for a message to or from a peer.
  void await_message(const c10::intrusive_ptr<c10d::Work>& work, int64_t peer);

  /// Ends the connections, and fails all operations.
  void abort();
  [[nodiscard]] bool is_aborted() const;
  [[nodiscard]] bool is_idle();
  [[noreturn]] static void throw_aborted();

 private:
  using Clock = std::chrono::steady_clock;

  struct Operation;
  class Watched;

  struct Message {
    c10d::Work* work;
    int64_t peer;
    Clock::time_point start;
    bool is_lost = false;
  };

  [[nodiscard]] std::vector<std::shared_ptr<Operation>> pending();
  void watch();
  void end_operations_without(const std::vector<int64_t>& lost, Clock::time_point now);

  const detail::GroupSockets& sockets_;
  const int64_t world_size_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<std::atomic<bool>> is_aborted_ = std::make_shared<std::atomic<bool>>(false);
  bool is_closing_ = false;
  std::vector<std::weak_ptr<Operation>> operations_;
  std::set<Message*> messages_;
  std::thread watch_;
};

}  // namespace torchfeed
