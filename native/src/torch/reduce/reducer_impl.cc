// SPDX-License-Identifier: Apache-2.0
#include "torch/reduce/reducer_impl.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

#include "torch/group/collective_errors.h"

namespace torchfeed {
namespace {

using detail::NamedTensor;
using torch::autograd::Engine;

constexpr size_t kBroadcastBytes = size_t{250} << 20;
constexpr std::chrono::nanoseconds kNoTime{0};

}  // namespace

GradientReducer::Impl::~Impl() {
  drop_buckets();
  for (size_t i = 0; i < accumulators_.size(); ++i) {
    accumulators_[i]->del_post_hook(hooks_[i]);
  }
}

void GradientReducer::Impl::set_synchronized(bool synchronized) {
  const std::lock_guard lock(mutex_);
  if (!synchronized && options_.static_graph && used_.empty()) {
    throw Error(ErrorCode::kIllegalState,
                "gradients can be accumulated over a static graph only after its first backward "
                "pass, which must average them");
  }
  synchronized_ = synchronized;
}

bool GradientReducer::Impl::is_synchronized() const {
  const std::lock_guard lock(mutex_);
  return synchronized_;
}

void GradientReducer::Impl::before_forward() {
  const std::lock_guard lock(mutex_);
  note_interruption();
  refuse_if_failed();
  const bool is_recording = at::GradMode::is_enabled();
  if (!is_recording && !group_->has_python_ranks()) {
    return;
  }
  if (reducer_ && is_recording) {
    reducer_->rebuild();
  }
  if (options_.buffer_mode == ReducerOptions::kBeforeForward && buffers_are_due_) {
    broadcast_active_buffers();
  }
  buffers_are_due_ = is_recording && synchronized_;
}

void GradientReducer::Impl::backward(const at::Tensor& loss) { run(loss, at::Tensor()); }

void GradientReducer::Impl::run(const at::Tensor& loss, const at::Tensor& gradient) {
  const int64_t before = check_usable();
  if (!loss.defined() || loss.numel() != 1 || !loss.requires_grad()) {
    throw Error(ErrorCode::kInvalidArgument,
                "loss must be a single number with a gradient, got " +
                    (loss.defined()
                         ? loss.toString() + " with " + std::to_string(loss.numel()) + " elements"
                         : std::string("an undefined tensor")));
  }
  try {
    detail::guarded_collective([&] { loss.backward(gradient); });
  } catch (const Error& e) {
    note_failure(e);
    if (options_.buffer_mode == ReducerOptions::kBeforeForward &&
        std::string_view(e.message()).find("modified by an inplace") != std::string_view::npos) {
      throw Error(e.code(), std::string(e.message()) +
                                "; beforeForward writes the buffers, so call it once, before all "
                                "forward passes of a backward pass");
    }
    throw;
  }
  if (check_usable() == before) {
    throw Error(ErrorCode::kIllegalState, "the loss depends on no parameter of the model");
  }
}

void GradientReducer::Impl::check_complete_pass() {
  const std::lock_guard lock(mutex_);
  note_interruption();
  refuse_if_failed();
}

void GradientReducer::Impl::broadcast_buffers() {
  check_complete_pass();
  group_->barrier();  // reports a rank that calls something else
  broadcast(buffers_, 0);
}

int64_t GradientReducer::Impl::reduction_nanos() const {
  const std::lock_guard lock(mutex_);
  return reduction_time_.count();
}

int64_t GradientReducer::Impl::communication_nanos() const {
  const std::lock_guard lock(mutex_);
  return (communication_before_ + (reducer_ ? reducer_->communication() : kNoTime)).count();
}

int64_t GradientReducer::Impl::overlapped_nanos() const {
  const std::lock_guard lock(mutex_);
  return (overlapped_before_ + (reducer_ ? reducer_->overlapped() : kNoTime)).count();
}

int64_t GradientReducer::Impl::reductions() const {
  const std::lock_guard lock(mutex_);
  return reductions_;
}

std::string GradientReducer::Impl::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

int64_t GradientReducer::Impl::bucket_count() const {
  const std::lock_guard lock(mutex_);
  return reducer_ ? static_cast<int64_t>(reducer_->buckets().size()) : 0;
}

detail::BucketRecord GradientReducer::Impl::bucket(int64_t index) const {
  detail::check_index(index, bucket_count());
  const std::lock_guard lock(mutex_);
  return reducer_->buckets()[static_cast<size_t>(index)];
}

std::string GradientReducer::Impl::bucket_parameters(int64_t index) const {
  std::string names;
  for (const auto parameter : bucket(index).parameters) {
    names += trained_[parameter].name + '\n';
  }
  return names;
}

const NamedTensor& GradientReducer::Impl::parameter(int64_t index) const {
  detail::check_index(index, parameter_count());
  return parameters_[static_cast<size_t>(index)];
}

// Our hooks come first, so that an unusable reducer fails before c10d sends anything.
void GradientReducer::Impl::arm() {
  for (size_t i = 0; i < trained_.size(); ++i) {
    auto node = torch::autograd::impl::grad_accumulator(trained_[i].tensor);
    hooks_.push_back(node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, i](const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) {
          gradient_is_ready(i, inputs.front());
          return outputs;
        })));
    accumulators_.push_back(std::move(node));
  }
  form_buckets();
}

void GradientReducer::Impl::broadcast(const std::vector<at::Tensor>& tensors, int64_t root) {
  if (sender_ && !tensors.empty()) {
    const at::NoGradGuard no_grad;
    c10d::broadcast_coalesced(sender_, tensors, kBroadcastBytes, static_cast<int>(root));
  }
}

/// The buffers of a rank without input are of an earlier step.
void GradientReducer::Impl::broadcast_active_buffers() {
  broadcast(buffers_, uneven_ ? uneven_->first_active() : 0);
}

int64_t GradientReducer::Impl::check_usable() const {
  const std::lock_guard lock(mutex_);
  refuse_if_failed();
  return passes_;
}

// To be called between passes: one that `loss.backward()` started may have failed unnoticed.
void GradientReducer::Impl::note_interruption() {
  if (reducing_ && failure_.empty()) {
    failure_ = "it ended before all gradients were averaged";
  }
}

void GradientReducer::Impl::refuse_if_failed() const {
  if (!failure_.empty()) {
    throw Error(ErrorCode::kIllegalState, "an earlier backward pass failed: " + failure_);
  }
}

// A failure while nothing is being reduced changed nothing: the next backward pass may proceed.
void GradientReducer::Impl::note_failure(const Error& e) {
  const std::lock_guard lock(mutex_);
  if (reducing_ && failure_.empty()) {
    failure_ = e.message();
  }
}

void GradientReducer::Impl::fail(const std::string& reason) {
  failure_ = reason;
  throw Error(ErrorCode::kIllegalState, reason);
}

void GradientReducer::Impl::gradient_is_ready(size_t index, const at::Tensor& arrived) {
  const std::lock_guard lock(mutex_);
  const int pass = torch::autograd::get_current_graph_task_id();
  if (pass != pass_) {
    note_interruption();
  }
  refuse_if_failed();
  if (pass != pass_) {
    if (options_.weighted_losses && !weight_) {
      throw Error(
          ErrorCode::kIllegalState,
          "with weighted losses, each backward pass needs a weight: backward(loss, weight)");
    }
    counted_ += weight_.value_or(0);
    pass_ = pass;
    ++passes_;
    accumulated_ = !synchronized_;
    if (synchronized_) {
      begin(index);
    }
  }
  if (reducing_) {
    check_expected(index);
    if (reducer_ || options_.weighted_losses) {
      detail::own_gradient(trained_[index].tensor, arrived, options_.gradient_as_bucket_view);
    }
    ready_[index] = true;
    last_gradient_ = Clock::now();
  }
}

void GradientReducer::Impl::begin(size_t first) {
  if (needs_exchange_group()) {
    throw Error(ErrorCode::kIllegalState, "the exchange of gradients has no group yet");
  }
  if (uneven_ && !shadows_) {
    uneven_->check_input();
  }
  if (reducer_ && uneven_ && uneven_->divides_by_active() && !options_.weighted_losses) {
    reducer_->divide_by(uneven_->active());
  }
  reducing_ = true;
  ready_.assign(trained_.size(), false);
  if (reducer_) {
    reducer_->begin_backward(accumulators_, first);
    if (options_.weighted_losses) {
      detail::write_weight(reducer_->weights(), group_->rank(), counted_);
    }
  }
  // c10d queues its own callback with the last gradient; queuing in two steps puts ours after.
  Engine::get_default_engine().queue_callback([this] {
    record_static_graph();
    Engine::get_default_engine().queue_callback([this] { finish(); });
  });
}

void GradientReducer::Impl::record_static_graph() {
  const std::lock_guard lock(mutex_);
  if (!options_.static_graph || !used_.empty()) {
    return;
  }
  used_ = ready_;
  if (reducer_) {
    reducer_->reduce_first_static();
  }
}

void GradientReducer::Impl::check_expected(size_t index) {
  const auto& [name, tensor] = trained_[index];
  if (!used_.empty() && !used_[index]) {
    fail("parameter " + name +
         " received a gradient, but none in the first backward pass; with a static graph, every "
         "pass must use the same parameters");
  }
  const at::Tensor& gradient = tensor.grad();
  if (gradient.defined() && gradient.is_sparse() != sparse_[index]) {
    fail("the gradient of parameter " + name + " must be " +
         (sparse_[index] ? "sparse, since its module is a sparse embedding"
                         : "dense; sparse ones are averaged for Embedding and EmbeddingBag only"));
  }
}

void GradientReducer::Impl::check_complete() {
  if (options_.find_unused_parameters && !options_.static_graph) {
    return;  // the unused ones were found when the pass began
  }
  size_t missing = 0;
  const std::string* name = nullptr;
  for (size_t i = trained_.size(); i-- > 0;) {
    if (!ready_[i] && (used_.empty() || used_[i])) {
      name = &trained_[i].name;
      ++missing;
    }
  }
  if (missing > 0) {
    fail("parameter " + *name + " (" + std::to_string(missing) + " in total) received no gradient" +
         (used_.empty() ? "; every parameter that requires one must contribute to the loss, on "
                          "every rank, unless findUnusedParameters is set"
                        : ", but did in the first backward pass; with a static graph, every pass "
                          "must use the same parameters"));
  }
}

void GradientReducer::Impl::finish() {
  const std::lock_guard lock(mutex_);
  check_complete();
  divide_by_weights();
  if (options_.buffer_mode == ReducerOptions::kAfterBackward) {
    broadcast_active_buffers();
  }
  if (uneven_) {
    uneven_->advance();
    end_inputs();
  }
  reduction_time_ += Clock::now() - last_gradient_;
  if (reducer_) {
    reducer_->end_backward(last_gradient_);
  }
  ++reductions_;
  reducing_ = false;
}

}  // namespace torchfeed
