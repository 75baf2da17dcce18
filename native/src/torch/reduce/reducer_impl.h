// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "torch/base/live_count.h"
#include "torch/group/process_group_impl.h"
#include "torch/reduce/bucket_reducer.h"
#include "torch/reduce/replica_layout.h"
#include "torch/reduce/uneven_inputs.h"
#include "torchfeed/error.h"
#include "torchfeed/reducer.h"

namespace torchfeed {

/// The reducer behind the facade: hooks on the gradients decide when a backward pass begins, is
/// complete, or has failed; `BucketReducer` sends.
class GradientReducer::Impl {
 public:
  Impl(std::shared_ptr<ProcessGroup::Impl> group, std::vector<detail::NamedTensor> parameters,
       std::vector<detail::NamedTensor> buffers, const ReducerOptions& options);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  /// The groups of an exchange: of all ranks and, for an exchange between nodes, of this rank's
  /// node and of the nodes' first ranks, which is null on the others.
  struct ExchangeImpls {
    std::shared_ptr<ProcessGroup::Impl> all;
    std::shared_ptr<ProcessGroup::Impl> node;
    std::shared_ptr<ProcessGroup::Impl> leaders;
  };

  /// Adds the hooks; not part of construction, so that the destructor removes them after a failure.
  void arm();
  [[nodiscard]] bool needs_exchange_group() const;
  void exchange_over(const ExchangeImpls& groups);
  void rebind(std::shared_ptr<ProcessGroup::Impl> group);
  void rescale_exchange(double factor);

  void set_synchronized(bool synchronized);
  [[nodiscard]] bool is_synchronized() const;
  void before_forward();
  void backward(const at::Tensor& loss);
  void backward(const at::Tensor& loss, double weight);
  void average_accumulated();
  double clip(double max_norm);
  /// Throws if the latest backward pass, or an earlier one, has not averaged all gradients.
  void check_complete_pass();
  void broadcast_buffers();

  [[nodiscard]] const std::string& layout() const { return layout_; }
  [[nodiscard]] ReducerState state();
  void restore(const ReducerState& state);

  void begin_uneven_inputs(int64_t passes, bool divides_by_active);
  void announce();
  bool shadow();
  void end_uneven_inputs();

  [[nodiscard]] int64_t reduction_nanos() const;
  [[nodiscard]] int64_t communication_nanos() const;
  [[nodiscard]] int64_t overlapped_nanos() const;
  [[nodiscard]] int64_t reductions() const;
  [[nodiscard]] std::string failure() const;

  [[nodiscard]] int64_t bucket_count() const;
  [[nodiscard]] detail::BucketRecord bucket(int64_t index) const;
  [[nodiscard]] std::string bucket_parameters(int64_t index) const;

  [[nodiscard]] int64_t parameter_count() const { return static_cast<int64_t>(parameters_.size()); }
  [[nodiscard]] const detail::NamedTensor& parameter(int64_t index) const;

 private:
  using Clock = std::chrono::steady_clock;

  /// The rank whose values the others get.
  struct Origin {
    int64_t rank = 0;
    bool is_rebound = false;  // whether its exchange has a state that the others need
    int64_t exchange_steps = 0;
    std::string exchange_random;
    int64_t trained = 0;  // ranks whose exchange has taken a step
  };

  /// Compares the layouts of all ranks; a collective operation.
  ///
  /// @param is_rebound  whether this rank has trained in another group
  [[nodiscard]] Origin meet(ProcessGroup::Impl& group, bool is_rebound) const;
  /// Copies the values of the origin to the other ranks; a collective operation.
  void enter(std::shared_ptr<ProcessGroup::Impl> group, const Origin& origin);
  void check_communicators() const;
  void share_exchange(const Origin& origin);
  void check_can_rebind(const ProcessGroup::Impl& group) const;
  void form_buckets();
  void drop_buckets();

  /// Runs a backward pass from a loss.
  ///
  /// @param gradient  of the loss; undefined for 1
  void run(const at::Tensor& loss, const at::Tensor& gradient);
  /// Runs a backward pass that adds nothing to the gradients of this rank.
  void run_without_weight();
  /// Begins to count again if gradients have been cleared.
  void forget_cleared();
  /// Divides the gradients by the weights of all ranks.
  void divide_by_weights();
  void fill_with_zeros();

  void broadcast(const std::vector<at::Tensor>& tensors, int64_t root);
  void broadcast_active_buffers();
  /// Tells the others whether this rank has an input for the next pass.
  void vote(bool has_input);
  void check_static_graph_has_inputs();
  void end_inputs();
  void run_without_input();
  /// Runs a backward pass that adds nothing to the gradients.
  ///
  /// @param reaches  whether a trained parameter, of this number, takes part
  void run_given(const std::function<bool(size_t)>& reaches);

  /// Throws unless a step has ended and the next one has not begun.
  void check_between_steps();
  /// Throws if a step has begun and not ended.
  ///
  /// @param what  the action that is refused
  void refuse_open_step(const std::string& what) const;
  /// Returns the number of backward passes that have begun.
  [[nodiscard]] int64_t check_usable() const;
  void note_interruption();
  void note_failure(const Error& e);
  void refuse_if_failed() const;
  [[noreturn]] void fail(const std::string& reason);

  void gradient_is_ready(size_t index, const at::Tensor& arrived);
  void begin(size_t first);
  void record_static_graph();
  void check_expected(size_t index);
  void check_complete();
  void finish();

  LiveCount live_;
  std::shared_ptr<ProcessGroup::Impl> group_;
  ReducerOptions options_;
  std::string layout_;
  std::vector<detail::NamedTensor> parameters_;
  std::vector<detail::NamedTensor> trained_;
  std::vector<bool> sparse_;
  std::vector<detail::NamedTensor> named_buffers_;
  std::vector<at::Tensor> buffers_;
  c10::intrusive_ptr<c10d::ProcessGroup> sender_;       // null if nothing is sent
  std::unique_ptr<detail::BucketReducer> reducer_;      // null in a group of one rank
  std::shared_ptr<detail::GradientExchange> exchange_;  // null for the all-reduce
  std::vector<detail::GraphNode> accumulators_;
  std::vector<uintptr_t> hooks_;

  mutable std::mutex mutex_;
  bool synchronized_ = true;
  bool buffers_are_due_ = true;
  std::optional<detail::UnevenInputs> uneven_;
  bool shadows_ = false;
  int pass_ = -1;                 // the latest backward pass
  int64_t passes_ = 0;            // those that have begun
  bool accumulated_ = false;      // whether the latest one has left gradients that are not averaged
  bool reducing_ = false;         // whether the latest one has begun to average gradients
  std::optional<double> weight_;  // of the pass that begins, if losses are weighted
  double counted_ = 0;            // the weights of the gradients that are not averaged yet
  std::vector<bool> ready_;
  std::vector<bool> used_;  // by the first pass over a static graph; empty before
  Clock::time_point last_gradient_;
  std::chrono::nanoseconds reduction_time_{0};
  std::chrono::nanoseconds communication_before_{0};  // in other groups
  std::chrono::nanoseconds overlapped_before_{0};
  int64_t reductions_ = 0;
  std::string failure_;
};

}  // namespace torchfeed
