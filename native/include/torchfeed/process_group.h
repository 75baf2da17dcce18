// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "torchfeed/export.h"

namespace torchfeed {

/// The ranks that work together, and their collective operations on CPU tensors.
///
/// Every rank calls the same operations in the same order with tensors of one shape and dtype;
/// this is checked across the ranks before each operation, so that a difference is an
/// `INVALID_ARGUMENT` on every rank. A peer that is gone is `PEER_LOST`, one that does not answer
/// within the backend's timeout is `TIMEOUT`. Calls from several threads run one after another.
class TORCHFEED_API ProcessGroup {
 public:
  /// Shares the ownership of a `c10d::Backend` that somebody else has made.
  ///
  /// @param backend_address  the address of the backend; 0 for a group of one rank
  [[nodiscard]] static std::unique_ptr<ProcessGroup> adopt(int64_t backend_address, int64_t rank,
                                                           int64_t world_size);
  ProcessGroup(const ProcessGroup&) = delete;
  /// Waits at most two seconds for operations in flight; what still runs then is left to itself.
  ~ProcessGroup();

  [[nodiscard]] int64_t rank() const;
  [[nodiscard]] int64_t world_size() const;

  /// Returns when every rank has called it.
  void barrier();
  /// Replaces `tensor` on every rank by the reduction over all ranks.
  ///
  /// @param op  0 sum, 1 mean, 2 product, 3 minimum, 4 maximum
  void all_reduce(const torch::Tensor& tensor, int32_t op);
  /// Replaces `tensor` on every rank by that of rank `root`.
  void broadcast(const torch::Tensor& tensor, int64_t root);
  /// The tensors of all ranks, stacked in rank order: `[world_size, ...]`.
  [[nodiscard]] torch::Tensor all_gather(const torch::Tensor& tensor);

 private:
  friend class GradientReducer;  // shares the group beyond the life of this object
  class Impl;
  explicit ProcessGroup(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace torchfeed
