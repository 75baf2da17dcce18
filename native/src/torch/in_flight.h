// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace torchfeed {

/// The waits of a group for its operations in flight, all of which `abort` ends.
///
/// To shut the connections down is not enough: Gloo forgets to wake who waits for a send of which a
/// part has been written (`Pair::signalException` skips unbound buffers in `tx_`), so that the wait
/// ends only with the group's timeout. Thread-safe.
class InFlight {
 public:
  /// Waits for a collective operation, and throws what it failed with; throws `ILLEGAL_STATE` if
  /// the group is aborted. The work keeps its tensors, since Gloo may then still use them.
  void await(const c10::intrusive_ptr<c10d::Work>& work);
  /// Like `await`, for a message, which has no future.
  void await_message(const c10::intrusive_ptr<c10d::Work>& work);
  void abort();
  [[nodiscard]] bool is_aborted() const;
  [[noreturn]] static void throw_aborted();

 private:
  struct Wait {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
    bool is_aborted = false;
  };

  mutable std::mutex mutex_;
  bool is_aborted_ = false;
  std::set<Wait*> waits_;
  std::set<c10d::Work*> messages_;
};

}  // namespace torchfeed
