// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "torchfeed/export.h"

namespace torchfeed {

/// The ranks that work together, and their collective operations on CPU tensors.
///
/// Every rank must call the same operations in the same order with tensors of the same shape and
/// dtype. This is checked across the ranks before each operation, so a difference fails with
/// `INVALID_ARGUMENT` on every rank. A lost peer is reported as `PEER_LOST`, and one that does not
/// respond within the backend's timeout as `TIMEOUT`. Thread-safe: calls run one at a time.
class TORCHFEED_API ProcessGroup {
 public:
  /// Shares the ownership of an existing `c10d::Backend`.
  ///
  /// @param backend_address  the address of the backend; 0 for a group of one rank
  [[nodiscard]] static std::unique_ptr<ProcessGroup> adopt(int64_t backend_address, int64_t rank,
                                                           int64_t world_size);
  ProcessGroup(const ProcessGroup&) = delete;
  /// Waits at most two seconds for operations in flight, then abandons those still running.
  ~ProcessGroup();

  [[nodiscard]] int64_t rank() const;
  [[nodiscard]] int64_t world_size() const;

  /// Waits until every rank has called this function.
  void barrier();
  /// Replaces `tensor` on every rank with the reduction over all ranks.
  ///
  /// @param op  0 sum, 1 mean, 2 product, 3 minimum, 4 maximum
  void all_reduce(const torch::Tensor& tensor, int32_t op);
  /// Replaces `tensor` on every rank with that of rank `root`.
  void broadcast(const torch::Tensor& tensor, int64_t root);
  /// Returns the tensors of all ranks, stacked in rank order: `[world_size, ...]`.
  [[nodiscard]] torch::Tensor all_gather(const torch::Tensor& tensor);

 private:
  friend class GradientReducer;  // shares the group, and may outlive this object
  class Impl;
  explicit ProcessGroup(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace torchfeed
