// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "torch/flight/in_flight.h"
#include "torch/group/call_signature.h"

namespace torchfeed::detail {

/// The first messages of a checked call, from each rank to each other: its signature, followed by
/// values that take few bytes.
///
/// They are the same for all operations, so that ranks that make different calls still understand
/// each other. A receiver does not know how many bytes come, so it has room for the most: Gloo
/// takes a message that is shorter than its buffer.
class CallExchange {
 public:
  /// The most bytes of values to a rank; equal on all ranks.
  static constexpr int64_t kMaxBytes = int64_t{16} << 10;

  /// Returns the values for a rank, dense and on the host; undefined if there are none for it.
  using Values = std::function<at::Tensor(int64_t to)>;

  /// Sends and receives nothing yet, and holds nothing.
  CallExchange() = default;
  /// Exchanges the messages; returns once all have arrived.
  ///
  /// @param limit  how long this rank waits for the others; 0: as long as in all operations
  CallExchange(c10d::Backend& backend, InFlight& in_flight, const CallSignature& mine,
               const Values& values, std::chrono::milliseconds limit);

  [[nodiscard]] bool is_empty() const { return messages_.empty(); }
  /// Returns the words of a rank's signature.
  [[nodiscard]] const int64_t* words(int64_t rank) const;
  /// Returns the values that a rank has sent to this one, in the shape and dtype of `like`; this
  /// object's memory.
  [[nodiscard]] at::Tensor values(int64_t from, const at::Tensor& like) const;
  /// Returns some of the bytes that a rank has sent to this one; this object's memory.
  [[nodiscard]] at::Tensor bytes(int64_t from, int64_t start, int64_t length) const;

 private:
  std::vector<at::Tensor> messages_;  // to this rank; its own among them
};

}  // namespace torchfeed::detail
