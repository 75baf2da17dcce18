// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "torch/group/rank_call.h"
#include "torch/reduce/replica_layout.h"
#include "torchfeed/exchange_options.h"

namespace torchfeed::detail {

/// The gradients of one bucket.
struct GradientBucket {
  at::Tensor flat;                    ///< dense, of one dtype
  std::vector<at::Tensor> gradients;  ///< views of `flat`, one after the other
  std::vector<at::Tensor> parameters;
  bool is_last;  ///< whether no other bucket follows in this backward pass
};

class ExchangeRanks;

/// The place of a rank in an exchange between nodes.
struct ExchangeNode {
  ExchangeRanks& ranks;    ///< of this rank's node
  ExchangeRanks* leaders;  ///< the first rank of each node; null on the others
};

/// The operations of exchanges, and how many bytes this rank sends in them.
class ExchangeRanks {
 public:
  /// @param node  null if the ranks are not divided into nodes; borrowed
  explicit ExchangeRanks(const RankCall& call, const ExchangeNode* node = nullptr)
      : call_(call), node_(node) {}

  [[nodiscard]] int64_t size() const { return call_.size(); }
  /// Returns the bytes sent to these ranks, and to other nodes' leaders.
  [[nodiscard]] int64_t sent_bytes() const;
  [[nodiscard]] const ExchangeNode* node() const { return node_; }

  /// Replaces the tensors, all of one dtype, with their sums over the ranks.
  void sum(const std::vector<at::Tensor>& tensors);
  /// Sends row i to rank i, and receives row i from rank i.
  void all_to_all(const at::Tensor& received, const at::Tensor& sent);
  /// Receives row i from rank i.
  void all_gather(const at::Tensor& received, const at::Tensor& sent);
  /// Replaces the tensor of the first rank with the sum; not counted in `sent_bytes`.
  void sum_at_first(const at::Tensor& tensor);
  /// Copies the tensor of the first rank; not counted in `sent_bytes`.
  void copy_from_first(const at::Tensor& tensor);

 private:
  const RankCall& call_;
  const ExchangeNode* node_;
  int64_t sent_bytes_ = 0;
};

/// A way of averaging gradients over the ranks. Not thread-safe.
class GradientExchange {
 public:
  GradientExchange() = default;
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;
  virtual ~GradientExchange() = default;

  /// Replaces the gradients of this rank, undivided, with the optimizer's input; all ranks pass the
  /// same buckets in the same order.
  virtual void run(ExchangeRanks& ranks, const GradientBucket& bucket) = 0;

  /// Multiplies the momenta that it keeps by a factor, when the scale of losses changes.
  virtual void rescale(double factor);

  /// Returns the backward passes so far; 0 if the exchange does not count them.
  [[nodiscard]] virtual int64_t steps() const { return 0; }
  /// Returns the state of the random numbers; empty if the exchange draws none.
  [[nodiscard]] virtual std::string random() const { return {}; }
  /// Returns the parameters' states for the next backward pass, in the memory where they are kept;
  /// the name of each is a role, a dot, and the name of a parameter.
  [[nodiscard]] virtual std::vector<NamedTensor> kept(
      const std::vector<NamedTensor>& parameters) const;
  /// Returns the tensors of `kept` that all ranks share, so that a rank that joins gets them.
  [[nodiscard]] virtual std::vector<at::Tensor> shared(
      const std::vector<NamedTensor>& parameters) const;
  /// Multiplies the errors that this rank feeds back by a factor, when ranks join that have none:
  /// so their mean over the ranks remains the same.
  virtual void scale_errors(double factor);
  /// Continues after some steps, as if the parameters' states were zero.
  virtual void begin_after(int64_t steps, const std::string& random,
                           const std::vector<NamedTensor>& parameters);
};

/// The states that an exchange keeps, one for each parameter. Not for each bucket: after the first
/// backward pass, the buckets hold other parameters.
template <class State>
using PerParameter = std::unordered_map<const c10::TensorImpl*, State>;

/// Returns the bytes that each of `ranks` ranks sends in an all-reduce of `bytes`.
[[nodiscard]] int64_t sent_by_all_reduce(int64_t bytes, int64_t ranks);

/// Replaces numbers with their mean over the ranks.
void average(ExchangeRanks& ranks, const at::Tensor& numbers);
/// Replaces numbers with their mean over the ranks; `between_nodes` averages its numbers over its
/// ranks, which are the nodes' first if there are nodes.
void average_by_nodes(ExchangeRanks& ranks, const at::Tensor& numbers,
                      const std::function<void(ExchangeRanks&, const at::Tensor&)>& between_nodes);
/// Replaces numbers, float32, with their mean over the ranks, sent between nodes as bytes: each
/// node's are coded, and so is the mean. Source: Bagua, `ByteGrad`.
void average_in_bytes(ExchangeRanks& ranks, const at::Tensor& numbers);

/// Throws if an option is out of range.
void check_exchange(const ExchangeOptions& options, int64_t world_size);
/// Returns whether gradients are exchanged by a `GradientExchange`, rather than by the reducer.
[[nodiscard]] bool has_exchange(const ExchangeOptions& options);
/// Throws if a parameter has gradients that cannot be exchanged in this way.
///
/// @param sparse  for each parameter, whether its gradients are sparse
void check_exchangeable(const ExchangeOptions& options, const std::vector<NamedTensor>& parameters,
                        const std::vector<bool>& sparse);
/// Describes the options by their names in Java, in one line.
[[nodiscard]] std::string describe_exchange(const ExchangeOptions& options);

/// Returns the exchange of options that have one.
[[nodiscard]] std::unique_ptr<GradientExchange> make_exchange(const ExchangeOptions& options);
[[nodiscard]] std::unique_ptr<GradientExchange> make_byte_grad();
[[nodiscard]] std::unique_ptr<GradientExchange> make_power_sgd(const ExchangeOptions& options);
[[nodiscard]] std::unique_ptr<GradientExchange> make_q_adam(const ExchangeOptions& options);

}  // namespace torchfeed::detail
