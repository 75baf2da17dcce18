// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "torch/reduce/exchange_thread.h"
#include "torch/reduce/replica_layout.h"
#include "torch/reduce/timed_backend.h"
#include "torch/reduce/weights.h"
#include "torchfeed/reducer.h"

namespace torchfeed::detail {

/// A counted pointer to a node of an autograd graph: `c10::intrusive_ptr` in libtorch 2.13,
/// `std::shared_ptr` in 2.10.
using GraphNode = decltype(torch::autograd::Edge::function);

template <typename T, typename... Arguments>
GraphNode make_graph_node(Arguments&&... arguments) {
  if constexpr (std::is_same_v<GraphNode, std::shared_ptr<torch::autograd::Node>>) {
    return std::make_shared<T>(std::forward<Arguments>(arguments)...);
  } else {
    return c10::make_intrusive<T>(std::forward<Arguments>(arguments)...);
  }
}

/// The time and size of the reductions of one bucket.
struct BucketRecord {
  std::vector<size_t> parameters;
  int64_t bytes = 0;
  int64_t sent_bytes = 0;
  int64_t reductions = 0;
  std::chrono::nanoseconds time{0};
};

/// Copies the gradient of a parameter if its memory may be shared: the average is written where the
/// gradient is, while the autograd engine, another gradient or the caller may read it. To be called
/// in a hook of the gradient, before libtorch's reducer gets it.
///
/// @param arrived  the summand that the engine has added to the gradient
/// @param as_view  whether dense gradients become views of the buckets, and so are not written
void own_gradient(const at::Tensor& parameter, const at::Tensor& arrived, bool as_view);

/// Returns a gradient of an embedding that no row has contributed to.
[[nodiscard]] at::Tensor no_gradient(const at::Tensor& table);

/// Returns the sizes of `bucket_bytes_list`; throws `INVALID_ARGUMENT` for one that is below 1.
[[nodiscard]] std::vector<size_t> bucket_sizes(const ReducerOptions& options);

/// libtorch's reducer, with buckets that are chosen rather than formed after the first pass.
class ChosenBuckets : public c10d::Reducer {
 public:
  using Reducer::Reducer;

  /// Returns whether the buckets have changed since the construction.
  [[nodiscard]] bool are_final() const { return has_rebuilt_bucket_; }
  /// Like `rebuild_buckets`, with a size for each bucket; further buckets have the last size.
  /// libtorch takes such sizes from 2.13 on.
  [[nodiscard]] bool rebuild(const std::vector<size_t>& sizes);
  /// Sets the buckets, once and for all; to be called before the first backward pass.
  void choose(std::vector<std::vector<size_t>> buckets);
  /// Returns numbers after the gradients of the first dense bucket, which are sent with them.
  [[nodiscard]] at::Tensor with_numbers(int64_t count);
  /// Returns how often the first backward pass over a static graph used each parameter, and then,
  /// for each of them, whether any rank did.
  [[nodiscard]] std::vector<int64_t> uses() const;
  /// Lets the next backward pass over a static graph be the second one.
  void assume_first_pass(const std::vector<int64_t>& uses);
};

/// libtorch's reducer of the gradients of `parameters` over a group of several ranks.
class BucketReducer {
 public:
  /// @param parameters  those that require a gradient, each once
  /// @param sparse  for each of them, whether its gradients are sparse
  BucketReducer(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                const std::vector<NamedTensor>& parameters, const std::vector<bool>& sparse,
                const ReducerOptions& options);

  /// Replaces the all-reduce of buckets; to be called before the first backward pass, once.
  void exchange_over(ExchangeGroups groups, std::shared_ptr<GradientExchange> exchange);
  [[nodiscard]] bool has_exchange() const { return exchange_ != nullptr; }
  /// Returns the exchange, to be used between backward passes; null for the all-reduce.
  [[nodiscard]] GradientExchange* exchange() const;
  /// Forms the buckets in the order of the gradients of the first backward pass, once: a collective
  /// operation, to be called outside of backward passes or before the first gradient of one.
  void rebuild();
  /// Returns whether the buckets remain as they are.
  [[nodiscard]] bool is_final() const { return reducer_->are_final(); }
  /// Sets the buckets in place of those formed after the first backward pass; to be called before
  /// it.
  void choose(std::vector<std::vector<size_t>> buckets);
  [[nodiscard]] std::vector<int64_t> uses() const { return reducer_->uses(); }
  void assume_first_pass(const std::vector<int64_t>& uses) { reducer_->assume_first_pass(uses); }
  /// Expects the gradients of the backward pass in progress, in a hook of its first gradient.
  ///
  /// @param accumulators  the autograd node that receives the gradient of each parameter
  /// @param first  the parameter whose gradient is the first
  void begin_backward(const std::vector<GraphNode>& accumulators, size_t first);
  /// Returns the place of the weights of the backward pass in progress, or of the last one.
  [[nodiscard]] const at::Tensor& weights() const { return weights_; }
  /// Sets the divisor of the gradient sum for later backward passes.
  void divide_by(int64_t ranks);
  /// Reduces everything at the end of the first backward pass over a static graph.
  void reduce_first_static() { reducer_->delay_all_reduce(); }
  /// Adds the reductions of the backward pass, whose last gradient arrived at `last_gradient`, to
  /// the records.
  void end_backward(ReductionLog::Clock::time_point last_gradient);

  [[nodiscard]] const std::vector<BucketRecord>& buckets() const { return buckets_; }
  [[nodiscard]] std::chrono::nanoseconds communication() const { return communication_; }
  [[nodiscard]] std::chrono::nanoseconds overlapped() const { return overlapped_; }

 private:
  void list_buckets();

  bool find_unused_;
  int64_t weight_numbers_;
  at::Tensor weights_;
  std::shared_ptr<ReductionLog> log_ = std::make_shared<ReductionLog>();
  std::vector<size_t> sizes_;  // of each bucket; empty for libtorch's
  std::shared_ptr<ChosenBuckets> reducer_;
  std::shared_ptr<c10d::Logger> logger_;  // the reducer uses it, but does not own it
  std::vector<BucketRecord> buckets_;
  std::chrono::nanoseconds communication_{0};
  std::chrono::nanoseconds overlapped_{0};
  std::unique_ptr<ExchangeThread> exchange_;  // null for the all-reduce; ends before the reducer
};

}  // namespace torchfeed::detail
