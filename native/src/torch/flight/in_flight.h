// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "torch/mesh/departures.h"
#include "torch/mesh/gloo_mesh.h"

namespace torchfeed {

/// The ranks that an operation waits for. A rank that has been lost may have left after its part;
/// these are the ranks whose part cannot be over while this rank's is not, unless its bytes are on
/// their way.
struct Needs {
  enum class Pattern {
    kEveryRank,  ///< No rank can be done before each has begun.
    kTree,       ///< From the root, through Gloo's binomial tree.
    kRoot,       ///< From or to the root, which is done only once this rank has begun.
  };

  Pattern pattern = Pattern::kEveryRank;
  int64_t root = 0;

  /// Returns whether rank `own` cannot finish without `other`. At the root, it is not known.
  [[nodiscard]] bool certainly(int64_t other, int64_t own, int64_t world_size) const;
};

/// The operations of a group that have not ended. This class ends those that Gloo forgets: by
/// `abort`, and by a thread that looks for lost connections. A device's end once the device
/// has finished them, which their own futures do not wait for.
///
/// Gloo does not wake a wait for a send whose connection breaks while the send is written
/// (`Pair::signalException` skips the unbound buffers in `tx_`), so that the wait ends only with
/// the group's timeout. Thread-safe.
class InFlight {
 public:
  struct Limits {
    /// The time between two looks at the connections.
    std::chrono::milliseconds lap{250};
    /// Time without a byte after which the ranks that are left send no more.
    std::chrono::milliseconds quiet{1000};
    /// The same for operations that may also wait for a rank that has not begun.
    std::chrono::milliseconds long_quiet{10'000};
    /// The most time that an operation is awaited unless it has its own limit, less than its
    /// backend waits; 0: as long as that does.
    std::chrono::milliseconds timeout{0};
  };

  /// Starts an operation.
  using Start = std::function<c10::intrusive_ptr<c10d::Work>()>;

  /// A message to or from a peer.
  struct Message {
    c10::intrusive_ptr<c10d::Work> work;
    int64_t peer;
    bool is_sent = false;
  };

  InFlight(const detail::GroupSockets& sockets, int64_t rank, int64_t world_size, Limits limits);
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight();

  /// Returns an operation that ends when `work`, a collective one, does, and fails when the group
  /// is aborted, or a rank that it needs is lost. `work` keeps its tensors: Gloo may still use
  /// them. Throws `ILLEGAL_STATE` if the group is aborted.
  [[nodiscard]] c10::intrusive_ptr<c10d::Work> watched(const c10::intrusive_ptr<c10d::Work>& work,
                                                       Needs needs = {});
  /// Starts an operation of `use_device`'s backend, and returns it as `watched` does. Does not
  /// start it once the backend is being aborted, but throws the reason.
  [[nodiscard]] c10::intrusive_ptr<c10d::Work> watched_on_device(const Start& start,
                                                                 Needs needs = {});
  /// Waits for `watched(work, needs)`.
  ///
  /// @param limit  how long it waits, in place of `Limits::timeout`; 0: as long as that
  void await(const c10::intrusive_ptr<c10d::Work>& work, Needs needs = {},
             std::chrono::milliseconds limit = {});
  /// Waits for `watched_on_device(start, needs)`.
  void await_on_device(const Start& start, Needs needs = {});
  /// Waits for a message.
  void await_message(const c10::intrusive_ptr<c10d::Work>& work, int64_t peer);
  /// Waits for the messages of a collective operation; fails if one of them does, or a rank is lost
  /// that had not completed the operation. One that is left may have failed before it sent its own.
  ///
  /// @param limit  as for `await`
  void await_messages(std::vector<Message> messages, std::chrono::milliseconds limit = {});

  /// Sets the backend whose operations run on a device; to be called at most once, before any. It
  /// is aborted when the group is, a rank is lost, or an operation fails or takes too long: else,
  /// its operations would occupy the device.
  void use_device(c10::intrusive_ptr<c10d::Backend> backend, c10::Device device);
  /// From now on, tells the other ranks when this one leaves, and learns when they do; to be called
  /// at most once, before any operation, in groups whose ranks all do it. They must begin the same
  /// collective operations.
  ///
  /// @param backend  Gloo's, which outlives the calls of `leave` and `abort`
  void exchange_departures(c10d::Backend& backend);
  /// Leaves the group, if that is possible without waiting; before the connections end.
  void leave();
  /// Ends the connections, and fails all operations.
  void abort();
  [[nodiscard]] bool is_aborted() const;
  /// Returns whether the backend of `use_device` is being aborted.
  [[nodiscard]] bool is_device_aborted() const;
  [[nodiscard]] bool is_idle();
  /// Returns whether an operation has failed, so that Gloo may still be in it.
  [[nodiscard]] bool has_failed() const;
  /// Returns the rank for whose loss operations fail; -1 if there is none, or it is unknown.
  [[nodiscard]] int64_t lost_rank();
  /// Returns the rank for whose loss the connection to `rank` has ended: that one, or the one for
  /// which it has left; -1 if that is unknown, `kNotLost` if the connection has not ended.
  [[nodiscard]] int64_t lost_with(int64_t rank);
  static constexpr int64_t kNotLost = -2;
  /// Returns whether the connection to a rank is lost.
  [[nodiscard]] bool is_lost(int64_t rank) const;
  [[noreturn]] static void throw_aborted();

 private:
  using Clock = std::chrono::steady_clock;

  struct Operation;
  class Batch;
  using Failures = std::vector<std::pair<std::shared_ptr<Operation>, std::exception_ptr>>;

  /// @param device_work  the work, if its future does not wait for the device
  [[nodiscard]] c10::intrusive_ptr<c10d::Work> add(
      const c10::intrusive_ptr<c10d::Work>& work, Needs needs,
      const c10::intrusive_ptr<c10d::Work>& device_work, std::chrono::milliseconds limit = {});
  [[nodiscard]] std::vector<std::shared_ptr<Operation>> pending();
  void watch();
  [[nodiscard]] bool has_failed_operation() const;
  [[nodiscard]] std::optional<std::chrono::milliseconds> exceeded();
  void time_out(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit);
  [[nodiscard]] int64_t silent_rank() const;
  [[nodiscard]] bool is_read_behind(bool has_lost);
  [[nodiscard]] std::exception_ptr poll(Operation& operation) const;
  void poll_device();
  void end_device(std::unique_lock<std::mutex>& lock);
  void abort_device(const std::exception_ptr& reason);
  void await_batch(std::vector<Message> messages, bool is_collective,
                   std::chrono::milliseconds limit);
  [[nodiscard]] bool await_next(Batch& batch);
  [[nodiscard]] std::vector<detail::Loss> losses();
  void note_culprit(const std::vector<detail::Loss>& losses);
  void announce_departure();
  void end_messages_without(const std::vector<detail::Loss>& losses);
  [[nodiscard]] bool is_without(const Batch& batch, const std::vector<detail::Loss>& losses) const;
  [[nodiscard]] std::chrono::milliseconds patience(const Operation& operation,
                                                   const detail::Loss& loss) const;
  [[nodiscard]] Failures end_operations_without(const std::vector<detail::Loss>& losses,
                                                Clock::time_point now);

  const detail::GroupSockets& sockets_;
  const int64_t rank_;
  const int64_t world_size_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<std::atomic<bool>> is_aborted_ = std::make_shared<std::atomic<bool>>(false);
  bool is_closing_ = false;
  int64_t culprit_ = -1;
  int64_t begun_ = 0;  // collective operations
  /// The number of the first collective operation that has failed.
  std::shared_ptr<std::atomic<int64_t>> first_failed_ =
      std::make_shared<std::atomic<int64_t>>(std::numeric_limits<int64_t>::max());
  int64_t first_failed_batch_ = std::numeric_limits<int64_t>::max();  // the same of messages
  bool has_timed_out_ = false;
  bool has_failed_batch_ = false;                   // also one that is no collective operation
  std::unique_ptr<detail::Departures> departures_;  // null unless the ranks tell each other
  std::vector<std::weak_ptr<Operation>> operations_;
  std::set<Batch*> batches_;
  std::optional<Clock::time_point> unread_since_;
  c10::intrusive_ptr<c10d::Backend> device_backend_;  // null without one, and once aborted
  std::optional<c10::Device> device_;
  int64_t device_starts_ = 0;          // calls of the backend that have not returned
  std::exception_ptr device_failure_;  // why the backend is aborted; null unless it is
  std::vector<std::shared_ptr<Operation>> on_device_;
  std::thread watch_;
  std::thread poll_;
};

}  // namespace torchfeed
