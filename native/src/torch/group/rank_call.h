// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "torch/flight/in_flight.h"
#include "torch/group/call_exchange.h"
#include "torch/group/call_signature.h"

namespace torchfeed {

/// The messages of an operation.
enum class Protocol {
  kChecked,    ///< First a comparison of their arguments.
  kUnchecked,  ///< Nothing for an operation without elements.
  kPython,     ///< The messages of Python's `ProcessGroupGloo`.
};

/// The backends of a group.
struct GroupBackends {
  c10::intrusive_ptr<c10d::Backend> host;  ///< null in a group of one rank
  /// Sends between devices; null if tensors on a device are sent through host memory.
  c10::intrusive_ptr<c10d::Backend> device_backend;
  std::optional<c10::Device> device;  ///< whose tensors `device_backend` takes
};

/// A rank's call of a collective operation, whose turn has come: how it agrees with the other ranks
/// on the call, and sends tensors to them.
///
/// Tensors may have any strides and be on any device; only `CallSignature` and tensors called
/// "sendable" or "dense" here go to a backend, which sends raw memory.
class RankCall {
 public:
  using Tensors = std::vector<at::Tensor>;
  using Check = std::function<void()>;
  using Describe = std::function<detail::CallSignature()>;
  using Values = detail::CallExchange::Values;
  /// Starts an operation of a backend.
  using Start = std::function<c10::intrusive_ptr<c10d::Work>(c10d::Backend&)>;

  /// @param in_flight  outlives this object
  RankCall(const GroupBackends& backends, InFlight& in_flight, int64_t rank, int64_t world_size,
           Protocol protocol);

  [[nodiscard]] int64_t rank() const { return rank_; }
  [[nodiscard]] int64_t size() const { return world_size_; }
  [[nodiscard]] bool is_checked() const { return protocol_ == Protocol::kChecked; }
  [[nodiscard]] bool is_python() const { return protocol_ == Protocol::kPython; }
  /// Returns the backend of host memory; null in a group of one rank.
  [[nodiscard]] c10d::Backend* host() const { return backends_.host.get(); }
  [[nodiscard]] InFlight& in_flight() const { return in_flight_; }

  /// Refuses the call on all ranks if `check` fails on one, or their descriptions differ. Returns
  /// the messages of the ranks to each other, with `values`; nothing if they do not compare the
  /// call. The descriptions must tell how many values there are.
  ///
  /// @param limit  how long this rank waits for the others; 0: as long as in all operations
  [[nodiscard]] detail::CallExchange agree(const Check& check, const Describe& describe,
                                           const Values& values = {},
                                           std::chrono::milliseconds limit = {}) const;
  void check_tensor(const at::Tensor& tensor) const;
  /// Checks each, and that all of them have one dtype and are on one device.
  void check_tensors(const Tensors& tensors) const;
  /// Describes this call.
  ///
  /// @param name  the operation's in messages, see `CallSignature`
  [[nodiscard]] detail::CallSignature signature(detail::CallName name,
                                                const Tensors& tensors) const;

  /// Returns whether this number of bytes of values like these travels with the description.
  [[nodiscard]] bool is_carried(const at::Tensor& like, int64_t bytes) const;
  /// Returns whether there is a backend for a tensor like this one.
  [[nodiscard]] bool sends(const at::Tensor& like) const;
  /// Returns whether nothing is sent for a tensor like this one, and this number of elements.
  [[nodiscard]] bool is_silent(const at::Tensor& like, int64_t elements) const {
    return !sends(like) || (elements == 0 && !is_python());
  }
  /// Returns whether sendable values travel as messages, and not in operations of the backend.
  [[nodiscard]] bool passes_messages(const at::Tensor& sendable) const;
  /// Returns the values in dense memory, to be sent from there: the tensor's own if possible.
  [[nodiscard]] at::Tensor sendable(const at::Tensor& tensor) const;
  /// Returns the needs of an operation with a root.
  [[nodiscard]] Needs rooted(Needs::Pattern pattern, int64_t root) const;
  /// Starts an operation of the backend of sendable values, and waits for it.
  void await(const at::Tensor& sendable, const Start& start, Needs needs = {}) const;

  /// Stacks the values from all ranks, like this.
  [[nodiscard]] at::Tensor gathered(const detail::CallExchange& exchange,
                                    const at::Tensor& like) const;
  /// Gathers sendable values, on their device.
  [[nodiscard]] at::Tensor gather_sendable(const at::Tensor& sendable) const;
  /// Sends bytes to some ranks, and receives from all.
  ///
  /// @param rows  one for each rank; undefined if this rank receives none
  void pass_row(const at::Tensor& row, const std::vector<int64_t>& receivers,
                const at::Tensor& rows) const;
  void pass_row_to_all(const at::Tensor& row, const at::Tensor& rows) const;
  /// Copies the root's sendable values to the other ranks.
  void pass_down(const at::Tensor& sendable, int64_t root) const;
  /// Gives each rank its part of the root's.
  ///
  /// @param parts  bytes for each rank at the root; elsewhere empty
  void pass_parts(const at::Tensor& part, const Tensors& parts, int64_t root) const;
  /// @param received_bytes  from each rank; empty, as `sent_bytes`, if all are equal
  void exchange_bytes(const at::Tensor& received, const at::Tensor& sent,
                      std::vector<int64_t> received_bytes, std::vector<int64_t> sent_bytes) const;

 private:
  void compare(const std::string& refusal, const detail::CallExchange& exchange) const;
  [[nodiscard]] bool is_between_devices(const at::Tensor& like) const;

  GroupBackends backends_;
  InFlight& in_flight_;
  int64_t rank_;
  int64_t world_size_;
  Protocol protocol_;
};

namespace detail {

/// Returns the values in dense memory: the tensor's own if it is dense.
[[nodiscard]] at::Tensor dense(const at::Tensor& tensor);
/// Views the same memory as bytes: Gloo supports few dtypes.
[[nodiscard]] at::Tensor as_bytes(const at::Tensor& dense);
/// Writes the values of `dense(tensor)` back into the tensor, if it is a copy.
void copy_back(const at::Tensor& tensor, const at::Tensor& dense);
/// Returns the tensors' values one after the other, in new memory.
[[nodiscard]] at::Tensor flattened(const std::vector<at::Tensor>& tensors);
/// Writes values that lie one after the other into the tensors.
void unflatten(const at::Tensor& flat, const std::vector<at::Tensor>& tensors);
/// Returns the tensors' bytes one after the other: the memory of a single one that is dense.
[[nodiscard]] at::Tensor bytes_of_all(const std::vector<at::Tensor>& tensors);
/// Returns the shape of a stack of tensors of this shape, one for each rank.
[[nodiscard]] std::vector<int64_t> with_ranks(at::IntArrayRef shape, int64_t world_size);
[[nodiscard]] int64_t elements(const std::vector<at::Tensor>& tensors);
[[nodiscard]] int64_t bytes_of(const at::Tensor& tensor);
[[nodiscard]] int64_t bytes_of(const std::vector<at::Tensor>& tensors);

}  // namespace detail
}  // namespace torchfeed
