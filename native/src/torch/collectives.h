// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "torch/call_signature.h"
#include "torch/in_flight.h"

namespace torchfeed {

/// The messages of an operation.
enum class Protocol {
  kChecked,    ///< First a comparison of their arguments.
  kUnchecked,  ///< Nothing for an operation without elements.
  kPython,     ///< What Python's `ProcessGroupGloo` sends.
};

/// The collective operations of one rank, each of which returns once it is done on this rank.
///
/// The facade's documents say what they do. Tensors may have any strides; only `CallSignature` and
/// what is called "dense" here go to Gloo, which sends raw memory.
class Collectives {
 public:
  using Tensors = std::vector<at::Tensor>;

  /// @param backend  null in a group of one rank, where nothing is sent
  /// @param in_flight  outlives this object
  Collectives(c10::intrusive_ptr<c10d::Backend> backend, InFlight& in_flight, int64_t rank,
              int64_t world_size, Protocol protocol);

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

  /// Refuses the call on all ranks if `check` fails on one, or their descriptions differ.
  void agree(const Check& check, const Describe& describe);
  [[nodiscard]] bool are_equal(int64_t number);
  void compare(const std::string& refusal, const detail::CallSignature& mine);
  [[nodiscard]] at::Tensor gather_dense(const at::Tensor& dense);
  /// @param received_bytes  from each rank; empty, as `sent_bytes`, if all are equal
  void exchange_bytes(const at::Tensor& received, const at::Tensor& sent,
                      std::vector<int64_t> received_bytes, std::vector<int64_t> sent_bytes);
  void agree_on_exchange(const std::vector<int64_t>& received, const std::vector<int64_t>& sent);
  void check_peer(const char* name, int64_t peer, int64_t tag) const;
  [[nodiscard]] bool is_checked() const { return protocol_ == Protocol::kChecked; }
  /// Returns whether nothing is sent for this number of elements.
  [[nodiscard]] bool is_silent(int64_t elements) const {
    return !backend_ || (elements == 0 && protocol_ != Protocol::kPython);
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
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
/// Writes what `dense(tensor)` has become into the tensor, if it is a copy.
void copy_back(const at::Tensor& tensor, const at::Tensor& dense);
/// Returns the tensors' values one after the other, in new memory.
[[nodiscard]] at::Tensor flattened(const std::vector<at::Tensor>& tensors);
/// Writes values that lie one after the other into the tensors.
void unflatten(const at::Tensor& flat, const std::vector<at::Tensor>& tensors);
[[nodiscard]] int64_t elements(const std::vector<at::Tensor>& tensors);

}  // namespace detail
}  // namespace torchfeed
