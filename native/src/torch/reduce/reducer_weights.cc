// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include "torch/group/collective_errors.h"
#include "torch/reduce/reducer_impl.h"
#include "torchfeed/gradients.h"

namespace torchfeed {
namespace {

void check_weight(double weight, const at::Tensor& loss) {
  // The gradient of the loss is the weight.
  const bool is_half = loss.defined() && loss.scalar_type() == at::kHalf;
  const double most =
      is_half ? double{std::numeric_limits<at::Half>::max()} : std::numeric_limits<float>::max();
  if (!(weight >= 0 && weight <= most)) {
    std::ostringstream message;
    message << "weight must be a finite number of at least 0, and at most " << most
            << (is_half ? " for a loss of float16, got " : ", got ") << weight;
    throw Error(ErrorCode::kInvalidArgument, message.str());
  }
}

std::vector<at::Tensor> tensors_of(const std::vector<detail::NamedTensor>& parameters) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(parameters.size());
  for (const auto& parameter : parameters) {
    tensors.push_back(parameter.tensor);
  }
  return tensors;
}

}  // namespace

void GradientReducer::Impl::backward(const at::Tensor& loss, double weight) {
  (void)check_usable();
  if (!options_.weighted_losses) {
    throw Error(ErrorCode::kIllegalState,
                "a loss has a weight only if the options have withWeightedLosses(true) on all "
                "ranks, since the weights are sent with the gradients");
  }
  check_weight(weight, loss);
  forget_cleared();
  if (weight == 0) {  // the mean over nothing is NaN
    if (is_synchronized()) {
      run_without_weight();
    }
    return;
  }
  weight_ = weight;
  const auto end = c10::make_scope_exit([this] { weight_.reset(); });
  run(loss, loss.defined() ? at::full_like(loss, weight) : loss);
}

void GradientReducer::Impl::run_without_weight() {
  bool has_gradients = false;
  {
    const std::lock_guard lock(mutex_);
    note_interruption();
    refuse_if_failed();
    if (options_.static_graph && used_.empty()) {
      throw Error(ErrorCode::kIllegalState,
                  "the first backward pass over a static graph needs a weight above 0");
    }
    has_gradients = Gradients::exist(tensors_of(trained_));
  }
  // As without input, but the forward pass has been prepared.
  const bool marks_unused = options_.find_unused_parameters && !options_.static_graph;
  try {
    detail::guarded_collective([&] {
      run_given([&](size_t i) {
        return !marks_unused || (has_gradients ? trained_[i].tensor.grad().defined() : i == 0);
      });
    });
  } catch (const Error& e) {
    note_failure(e);
    throw;
  }
}

void GradientReducer::Impl::forget_cleared() {
  const std::lock_guard lock(mutex_);
  if (!Gradients::exist(tensors_of(trained_))) {
    counted_ = 0;
  }
}

void GradientReducer::Impl::divide_by_weights() {
  if (!options_.weighted_losses) {
    return;
  }
  const int64_t ranks = group_->world_size();  // by which the sums have been divided
  const double sum =
      reducer_ ? detail::sum_of_weights(reducer_->weights(), reducer_->has_exchange() ? ranks : 1)
               : counted_;
  counted_ = 0;
  if (sum == 0) {
    fill_with_zeros();  // no rank has added anything to them
    return;
  }
  Gradients::divide(tensors_of(trained_), sum / static_cast<double>(ranks));
}

/// Gives the parameters the gradients that they get from c10d in a group of several ranks.
void GradientReducer::Impl::fill_with_zeros() {
  if (reducer_ || (options_.find_unused_parameters && !options_.static_graph)) {
    return;
  }
  for (size_t i = 0; i < trained_.size(); ++i) {
    const at::Tensor& parameter = trained_[i].tensor;
    if (!parameter.grad().defined() && (used_.empty() || used_[i])) {
      parameter.mutable_grad() =
          sparse_[i] ? detail::no_gradient(parameter) : at::zeros_like(parameter);
    }
  }
}

double GradientReducer::Impl::clip(double max_norm) {
  check_complete_pass();
  return Gradients::clip(tensors_of(trained_), max_norm);
}

}  // namespace torchfeed
