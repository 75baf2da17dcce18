// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "torch/group/call_exchange.h"
#include "torch/group/call_signature.h"
#include "torch/group/in_flight.h"

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

/// The collective operations of one rank, each of which returns once it is done on this rank.
///
/// For their contracts, see the facade. Tensors may have any strides and be on any device; only
/// `CallSignature` and tensors called "sendable" or "dense" here go to a backend, which sends raw
/// memory.
class Collectives {
 public:
  using Tensors = std::vector<at::Tensor>;

  /// @param in_flight  outlives this object
  Collectives(const GroupBackends& backends, InFlight& in_flight, int64_t rank, int64_t world_size,
              Protocol protocol);

  void barrier();
  void all_reduce(const Tensors& tensors, int32_t op);
  void reduce(const at::Tensor& tensor, int32_t op, int64_t root);
  void reduce_scatter(const Tensors& outputs, const Tensors& inputs, int32_t op);

  void broadcast(const at::Tensor& tensor, int64_t root);
  void scatter(const at::Tensor& output, const Tensors& inputs, int64_t root);
  /// Returns each tensor of all ranks, stacked in rank order.
  [[nodiscard]] Tensors all_gather(const Tensors& tensors);
  void all_gather_into(const at::Tensor& output, const at::Tensor& input);
  /// Returns the tensors of all ranks, stacked, at rank `root`; nothing elsewhere.
  [[nodiscard]] Tensors gather(const at::Tensor& tensor, int64_t root);
  void all_to_all(const Tensors& outputs, const Tensors& inputs);
  /// @param output_rows  for each rank; empty: equally many
  void all_to_all_single(const at::Tensor& output, const at::Tensor& input,
                         const std::vector<int64_t>& output_rows,
                         const std::vector<int64_t>& input_rows);
  [[nodiscard]] Tensors all_gather_bytes(const at::Tensor& bytes);
  [[nodiscard]] at::Tensor broadcast_bytes(const at::Tensor& bytes, int64_t root);

  void send(const at::Tensor& tensor, int64_t to, int64_t tag);
  void receive(const at::Tensor& tensor, int64_t from, int64_t tag);

 private:
  using Check = std::function<void()>;
  using Describe = std::function<detail::CallSignature()>;

  struct ByteCounts {
    std::vector<int64_t> received;  // from each rank
    std::vector<int64_t> sent;      // to each rank
  };

  using Values = detail::CallExchange::Values;

  /// Refuses the call on all ranks if `check` fails on one, or their descriptions differ. Returns
  /// the messages of the ranks to each other, with `values`; nothing if they do not compare the
  /// call. The descriptions must tell how many values there are.
  detail::CallExchange agree(const Check& check, const Describe& describe,
                             const Values& values = {});
  void compare(const std::string& refusal, const detail::CallExchange& exchange) const;
  /// Returns whether this number of bytes of values like these travels with the description.
  [[nodiscard]] bool is_carried(const at::Tensor& like, int64_t bytes) const;
  /// Returns the reduction of values of all ranks, like these, in rank order.
  [[nodiscard]] at::Tensor reduced(const detail::CallExchange& exchange, const at::Tensor& like,
                                   int32_t op) const;
  /// Stacks the values from all ranks, like this.
  [[nodiscard]] at::Tensor gathered(const detail::CallExchange& exchange,
                                    const at::Tensor& like) const;
  /// Returns whether sendable rows travel as messages, and not as the backend gathers.
  [[nodiscard]] bool passes_rows(const at::Tensor& sendable) const;
  /// Sends bytes to some ranks, and receives from all.
  ///
  /// @param rows  one for each rank; undefined if this rank receives none
  void pass_row(const at::Tensor& row, const std::vector<int64_t>& receivers,
                const at::Tensor& rows);
  void pass_row_to_all(const at::Tensor& row, const at::Tensor& rows);
  /// Gathers sendable values, on their device.
  [[nodiscard]] at::Tensor gather_sendable(const at::Tensor& sendable);
  /// @param received_bytes  from each rank; empty, as `sent_bytes`, if all are equal
  void exchange_bytes(const at::Tensor& received, const at::Tensor& sent,
                      std::vector<int64_t> received_bytes, std::vector<int64_t> sent_bytes);
  /// Agrees on a call, and refuses it if a rank sends other numbers of bytes than its peer expects.
  void agree_on_exchange(const Check& check, const Describe& describe,
                         const std::function<ByteCounts()>& counts);
  /// Checks the tensors of a reduce-scatter.
  void check_parts(const Tensors& outputs, const Tensors& inputs, int32_t op) const;
  void check_peer(const char* name, int64_t peer, int64_t tag) const;
  [[nodiscard]] bool is_checked() const { return protocol_ == Protocol::kChecked; }
  /// Returns whether nothing is sent for a tensor like this one, and this number of elements.
  [[nodiscard]] bool is_silent(const at::Tensor& like, int64_t elements) const {
    return !sends(like) || (elements == 0 && protocol_ != Protocol::kPython);
  }

  void check_tensor(const at::Tensor& tensor) const;
  /// Checks each, and that all of them have one dtype and are on one device.
  void check_tensors(const Tensors& tensors) const;
  [[nodiscard]] detail::CallSignature signature(detail::Operation operation,
                                                const Tensors& tensors) const;
  [[nodiscard]] bool is_between_devices(const at::Tensor& like) const;
  /// Returns whether there is a backend for a tensor like this one.
  [[nodiscard]] bool sends(const at::Tensor& like) const;
  /// Returns the backend of a tensor that is sendable.
  [[nodiscard]] c10d::Backend& backend_of(const at::Tensor& sendable) const;
  /// Returns the values in dense memory, to be sent from there: the tensor's own if possible.
  [[nodiscard]] at::Tensor sendable(const at::Tensor& tensor) const;
  /// Returns sendable values of which a backend has this reduction.
  [[nodiscard]] at::Tensor reducible(const at::Tensor& tensor, int32_t op) const;
  /// Returns the needs of an operation with a root.
  [[nodiscard]] Needs rooted(Needs::Pattern pattern, int64_t root) const;
  /// Waits for an operation on sendable values.
  void await(const at::Tensor& sendable, const c10::intrusive_ptr<c10d::Work>& work,
             Needs needs = {});

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
[[nodiscard]] int64_t elements(const std::vector<at::Tensor>& tensors);
[[nodiscard]] int64_t bytes_of(const at::Tensor& tensor);
[[nodiscard]] int64_t bytes_of(const std::vector<at::Tensor>& tensors);

}  // namespace detail
}  // namespace torchfeed
