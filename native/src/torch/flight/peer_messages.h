// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <chrono>
#include <cstdint>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "torch/flight/in_flight.h"
#include "torch/mesh/message_kind.h"

namespace torchfeed::detail {

/// Messages of one call to and from several ranks. Gloo passes them without a worker thread, from
/// and to the tensors' own memory, which each message keeps until nothing is written to it any
/// more.
class PeerMessages {
 public:
  PeerMessages(c10d::Backend& backend, InFlight& in_flight, MessageKind kind)
      : backend_(backend), in_flight_(in_flight), tag_(static_cast<int>(kind)) {}

  /// Begins to receive from a rank; to be called before `send`, so that the answer finds room.
  ///
  /// @param values  dense; a message may be shorter
  void receive(int64_t from, const at::Tensor& values);
  /// Begins to send to a rank.
  ///
  /// @param values  dense
  void send(int64_t to, const at::Tensor& values);
  /// Waits for all of them; fails if one of them does, or its peer is lost.
  ///
  /// @param limit  how long it waits; 0: as long as in all operations
  void await(std::chrono::milliseconds limit = {});

 private:
  c10d::Backend& backend_;
  InFlight& in_flight_;
  int tag_;
  std::vector<InFlight::Message> messages_;  // those received first, since they are awaited in turn
};

/// Copies the root's values to the other ranks, which pass them on along Gloo's binomial tree.
/// Unlike in Gloo's own operation, no thread keeps waiting after a rank is lost.
///
/// @param bytes  dense, of equal length on all ranks
void pass_down(c10d::Backend& backend, InFlight& in_flight, const at::Tensor& bytes, int64_t root);

}  // namespace torchfeed::detail
