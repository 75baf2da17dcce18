// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/serial_lane.h"
#include "torch/base/live_count.h"
#include "torch/flight/in_flight.h"
#include "torch/group/rank_call.h"
#include "torch/mesh/gloo_mesh.h"
#include "torchfeed/process_group.h"

namespace torchfeed {

/// The group behind the facade. A reducer shares it, so it may outlive the facade object.
class ProcessGroup::Impl : public std::enable_shared_from_this<ProcessGroup::Impl> {
 public:
  /// The work of an operation once its turn has come.
  using Body = std::function<std::vector<at::Tensor>(const RankCall&)>;

  /// @param mesh  without a backend in a group of one rank
  Impl(detail::GlooMesh mesh, int64_t rank, int64_t world_size, bool has_python_ranks = false);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  [[nodiscard]] int64_t rank() const { return rank_; }
  [[nodiscard]] int64_t world_size() const { return world_size_; }
  [[nodiscard]] bool has_python_ranks() const { return has_python_ranks_; }
  /// Throws an `Error` if `use_device` would refuse the device.
  void check_device(c10::Device device);
  /// Sets the backend for tensors of a device; before any operation, once.
  void use_device(c10::intrusive_ptr<c10d::Backend> backend, c10::Device device);
  /// Returns whether tensors of the device are sent from device to device.
  [[nodiscard]] bool sends_from(c10::Device device) const { return backends_.device == device; }
  /// Returns the c10d group, which takes tensors of the device; null if nothing is sent, as in a
  /// group of one rank.
  [[nodiscard]] c10::intrusive_ptr<c10d::ProcessGroup> group(c10::Device device);

  void abort();
  /// Lets `abort` abort another group of this rank as well.
  void abort_with(const std::shared_ptr<Impl>& other);
  [[nodiscard]] bool is_busy();
  [[nodiscard]] int64_t lost_rank() { return in_flight_.lost_rank(); }
  [[nodiscard]] int64_t lost_with(int64_t rank) { return in_flight_.lost_with(rank); }
  [[nodiscard]] bool is_lost(int64_t rank) const { return in_flight_.is_lost(rank); }

  /// Runs a collective operation in its turn: a function of a `RankCall` that returns tensors, a
  /// tensor, or nothing.
  template <class Function>
  std::unique_ptr<Work> collective(int32_t mode, Function function) {
    return start(*collectives_, mode, body_of(std::move(function)));
  }
  /// Runs an operation, like `collective`, in the turn of its tag.
  template <class Function>
  std::unique_ptr<Work> message(int32_t mode, bool is_sent, int64_t peer, int64_t tag,
                                Function function) {
    return start(*lane_of({is_sent, peer, tag}), mode, body_of(std::move(function)));
  }

  void barrier();
  /// Returns the texts of all ranks, in rank order; they may differ in length.
  [[nodiscard]] std::vector<std::string> gather_texts(const std::string& text);

 private:
  using LaneKey = std::tuple<bool, int64_t, int64_t>;

  template <class Function>
  static Body body_of(Function function) {
    using Result = std::invoke_result_t<Function, const RankCall&>;
    if constexpr (std::is_void_v<Result>) {
      return [function = std::move(function)](const RankCall& call) -> std::vector<at::Tensor> {
        function(call);
        return {};
      };
    } else if constexpr (std::is_same_v<Result, at::Tensor>) {
      return [function = std::move(function)](const RankCall& call) -> std::vector<at::Tensor> {
        return {function(call)};
      };
    } else {
      return function;
    }
  }

  std::unique_ptr<Work> start(SerialLane& lane, int32_t mode, Body body);
  [[nodiscard]] std::vector<at::Tensor> perform(int32_t mode, const Body& body);
  [[nodiscard]] std::shared_ptr<SerialLane> lane_of(const LaneKey& key);
  [[nodiscard]] bool has_backend(c10::DeviceType type) const;
  /// The caller holds the lock.
  void require_free(c10::Device device) const;

  LiveCount live_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;  // null without a backend
  GroupBackends backends_;
  detail::GroupSockets sockets_;
  int64_t rank_;
  int64_t world_size_;
  bool has_python_ranks_;
  InFlight in_flight_;
  std::shared_ptr<SerialLane> collectives_;
  std::mutex mutex_;  // of the backends, lanes of messages and groups aborted together
  std::map<LaneKey, std::shared_ptr<SerialLane>> messages_;
  std::vector<std::weak_ptr<Impl>> aborted_together_;
};

}  // namespace torchfeed
