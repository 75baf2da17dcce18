// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <c10/util/ScopeExit.h>
#include <torch/csrc/autograd/engine.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "torch/group/collective_errors.h"
#include "torch/group/collectives.h"
#include "torch/reduce/reducer_impl.h"

namespace torchfeed {
namespace {

constexpr int64_t kNotCounted = -1;

/// A root of a backward pass that has its gradients; undefined ones, unlike in libtorch's own.
class GivenGradients : public torch::autograd::Node {
 public:
  GivenGradients(torch::autograd::edge_list&& receivers, torch::autograd::variable_list gradients)
      : Node(std::move(receivers)), gradients_(std::move(gradients)) {
    add_input_metadata(input());
  }

  static at::Tensor input() { return at::zeros({}); }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& /*input*/) override {
    return gradients_;
  }

 private:
  torch::autograd::variable_list gradients_;
};

std::string describe_inputs(bool is_counted, bool divides_by_active) {
  return std::string(is_counted ? "counted" : "announced") + " passes, sums divided by " +
         (divides_by_active ? "the ranks that have an input" : "all ranks");
}

}  // namespace

void GradientReducer::Impl::begin_uneven_inputs(int64_t passes, bool divides_by_active) {
  if (passes < kNotCounted) {
    throw Error(ErrorCode::kInvalidArgument,
                "passes must be at least 0, got " + std::to_string(passes));
  }
  if (group_->has_python_ranks()) {
    throw Error(ErrorCode::kInvalidArgument,
                "uneven inputs of Python ranks have another protocol, which is not supported");
  }
  if (divides_by_active && options_.exchange.kind != ExchangeOptions::kAllReduce) {
    throw Error(ErrorCode::kInvalidArgument,
                "this exchange of gradients divides by the number of all ranks");
  }
  {
    const std::lock_guard lock(mutex_);
    note_interruption();
    refuse_if_failed();
    if (uneven_) {
      throw Error(ErrorCode::kIllegalState, "a scope of uneven inputs is open already");
    }
  }
  group_->barrier();  // reports a rank that calls something else
  const std::string mine = describe_inputs(passes != kNotCounted, divides_by_active);
  const auto texts = group_->gather_texts(std::to_string(passes) + ' ' + mine);
  std::vector<int64_t> counts;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    const auto blank = texts[rank].find(' ');
    if (texts[rank].substr(blank + 1) != texts[0].substr(texts[0].find(' ') + 1)) {
      throw Error(ErrorCode::kInvalidArgument,
                  "all ranks must begin uneven inputs in the same way: rank 0 with " +
                      texts[0].substr(texts[0].find(' ') + 1) + ", rank " + std::to_string(rank) +
                      " with " + texts[rank].substr(blank + 1));
    }
    counts.push_back(std::stoll(texts[rank]));
  }
  if (passes == kNotCounted) {
    counts.clear();
  }
  const std::lock_guard lock(mutex_);
  uneven_.emplace(std::move(counts), group_->rank(), group_->world_size(), divides_by_active);
  if (passes != kNotCounted) {
    check_static_graph_has_inputs();
  }
}

/// Throws on all ranks if one of them would shadow the pass in which a static graph is recorded.
void GradientReducer::Impl::check_static_graph_has_inputs() {
  if (options_.static_graph && used_.empty() && !uneven_->are_exhausted() &&
      uneven_->active() < group_->world_size()) {
    uneven_.reset();
    throw Error(ErrorCode::kIllegalState,
                "with a static graph, every rank must have an input for the first backward pass");
  }
}

void GradientReducer::Impl::vote(bool has_input) {
  at::Tensor votes = at::zeros({group_->world_size()}, at::kLong);
  auto* first = votes.mutable_data_ptr<int64_t>();
  first[group_->rank()] = has_input ? 1 : 0;
  (void)group_->collective(
      0, [&](const RankCall& call) { collectives::all_reduce(call, {votes}, ProcessGroup::kSum); });
  const std::lock_guard lock(mutex_);
  uneven_->announce({first, first + votes.numel()});
  end_inputs();
  check_static_graph_has_inputs();
}

/// Copies the latest buffers to all ranks: the next forward pass takes rank 0's, which may have run
/// out of inputs before others.
void GradientReducer::Impl::end_inputs() {
  if (uneven_->are_exhausted() && options_.buffer_mode == ReducerOptions::kBeforeForward) {
    broadcast(buffers_, uneven_->last_active());
  }
}

void GradientReducer::Impl::announce() {
  (void)check_usable();
  if (!uneven_) {
    throw Error(ErrorCode::kIllegalState, "no scope of uneven inputs is open");
  }
  if (uneven_->are_exhausted()) {
    throw Error(ErrorCode::kIllegalState,
                "no rank has inputs left; begin another scope of uneven inputs");
  }
  if (uneven_->are_counted()) {
    uneven_->check_input();
  } else {
    uneven_->check_no_input();
    vote(true);
  }
}

bool GradientReducer::Impl::shadow() {
  (void)check_usable();
  if (!uneven_) {
    throw Error(ErrorCode::kIllegalState, "no scope of uneven inputs is open");
  }
  uneven_->check_no_input();
  if (!synchronized_) {
    throw Error(ErrorCode::kIllegalState,
                "a rank that accumulates gradients cannot shadow the others");
  }
  if (!uneven_->are_counted() && !uneven_->are_exhausted()) {
    vote(false);
  }
  if (uneven_->are_exhausted()) {
    return false;
  }
  shadows_ = true;
  try {
    detail::guarded_collective([&] { run_without_input(); });
  } catch (const Error& e) {
    shadows_ = false;
    note_failure(e);
    throw;
  }
  shadows_ = false;
  return true;
}

void GradientReducer::Impl::run_without_input() {
  const at::AutoGradMode with_gradients(true);
  for (const auto& parameter : trained_) {
    parameter.tensor.mutable_grad().reset();
  }
  counted_ = 0;
  if (options_.buffer_mode == ReducerOptions::kBeforeForward) {
    before_forward();
  }
  // With unused parameters, only the first: c10d marks the others as unused itself.
  const bool marks_unused = options_.find_unused_parameters && !options_.static_graph;
  run_given([&](size_t i) { return i == 0 || !marks_unused; });
}

/// The pass gives the parameters undefined gradients. c10d averages existing ones before;
/// else, zeros.
void GradientReducer::Impl::run_given(const std::function<bool(size_t)>& reaches) {
  const at::AutoGradMode with_gradients(true);
  torch::autograd::edge_list receivers;
  torch::autograd::variable_list gradients;
  for (size_t i = 0; i < trained_.size(); ++i) {
    if (reaches(i) && (used_.empty() || used_[i])) {
      receivers.emplace_back(accumulators_[i], 0);
      gradients.push_back(sparse_[i] ? detail::no_gradient(trained_[i].tensor) : at::Tensor());
    }
  }
  weight_ = 0;
  const auto end = c10::make_scope_exit([this] { weight_.reset(); });
  const auto root =
      detail::make_graph_node<GivenGradients>(std::move(receivers), std::move(gradients));
  (void)torch::autograd::Engine::get_default_engine().execute(
      {{root, 0}}, {GivenGradients::input()}, /*keep_graph=*/false, /*create_graph=*/false,
      /*accumulate_grad=*/true);
}

void GradientReducer::Impl::average_accumulated() {
  check_complete_pass();
  forget_cleared();
  bool has_accumulated = false;
  {
    const std::lock_guard lock(mutex_);
    if (!synchronized_) {
      throw Error(ErrorCode::kIllegalState,
                  "accumulated gradients are averaged outside of noSync; close the scope first");
    }
    if (options_.static_graph && used_.empty()) {
      throw Error(ErrorCode::kIllegalState,
                  "the first backward pass over a static graph must be run from a loss");
    }
    has_accumulated = accumulated_;
  }
  try {
    detail::guarded_collective([&] {
      if (has_accumulated) {
        const bool marks_unused = options_.find_unused_parameters && !options_.static_graph;
        run_given([&](size_t i) { return !marks_unused || trained_[i].tensor.grad().defined(); });
      } else {
        run_without_input();
      }
    });
  } catch (const Error& e) {
    note_failure(e);
    throw;
  }
  const std::lock_guard lock(mutex_);
  buffers_are_due_ = true;  // as after the forward pass of a loss
}

void GradientReducer::Impl::end_uneven_inputs() {
  const std::lock_guard lock(mutex_);
  if (!uneven_) {
    return;
  }
  if (!uneven_->are_exhausted() && group_->world_size() > 1 && failure_.empty()) {
    failure_ = "this rank closed a scope of uneven inputs in which ranks had passes left";
  }
  if (reducer_ && uneven_->divides_by_active() && !options_.weighted_losses) {
    reducer_->divide_by(group_->world_size());
  }
  uneven_.reset();
}

}  // namespace torchfeed
