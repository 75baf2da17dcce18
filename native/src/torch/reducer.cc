// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/reducer.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>
#include <utility>

#include "torch/collective_errors.h"
#include "torch/live_count.h"
#include "torch/process_group_impl.h"
#include "torch/replica_layout.h"

namespace torchfeed {
namespace {

using Clock = std::chrono::steady_clock;
using detail::NamedTensor;
using torch::autograd::Engine;

constexpr size_t kBroadcastBytes = size_t{250} << 20;
constexpr int kNoTask = -1;

std::vector<at::Tensor> detached(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : named) {
    if (tensor.numel() > 0) {
      tensors.push_back(tensor.detach());
    }
  }
  return tensors;
}

std::string message_of(const Error& e) { return std::strchr(e.what(), '|') + 1; }

}  // namespace

class GradientReducer::Impl {
 public:
  Impl(std::shared_ptr<ProcessGroup::Impl> group, std::vector<NamedTensor> parameters,
       const std::vector<NamedTensor>& buffers)
      : group_(std::move(group)), parameters_(std::move(parameters)) {
    for (const auto& parameter : parameters_) {
      if (parameter.tensor.requires_grad()) {
        trained_.push_back(parameter);
      }
    }
    group_->barrier();
    detail::check_same_layout(
        group_->gather_texts(detail::describe_layout(parameters_, "parameter") +
                             detail::describe_layout(buffers, "buffer")));
    if (trained_.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "at least one parameter must require a gradient, got " +
                      std::to_string(parameters_.size()) + " parameters that do not");
    }
    auto state = detached(parameters_);
    buffers_ = detached(buffers);
    state.insert(state.end(), buffers_.begin(), buffers_.end());
    broadcast_from_rank_0(state);
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    try {
      reducer_.reset();
    } catch (const std::exception& e) {
      TORCH_WARN("closing a gradient reducer: ", e.what());
    }
    for (const auto& [node, key] : hooks_) {
      node->del_post_hook(key);
    }
  }

  void arm(int64_t first_bucket_bytes, int64_t bucket_bytes) {
    // These hooks come first, so that an unusable reducer fails before c10d sends anything.
    for (size_t i = 0; i < trained_.size(); ++i) {
      auto node = torch::autograd::impl::grad_accumulator(trained_[i].tensor);
      auto hook = std::make_unique<torch::autograd::utils::LambdaPostHook>(
          [this, i](const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>&) {
            gradient_is_ready(i);
            return outputs;
          });
      const auto key = node->add_post_hook(std::move(hook));
      hooks_.emplace_back(std::move(node), key);
    }
    if (!group_->group()) {
      return;
    }
    std::vector<at::Tensor> tensors;
    std::unordered_map<size_t, std::string> names;
    for (const auto& [name, tensor] : trained_) {
      names.emplace(tensors.size(), name);
      tensors.push_back(tensor);
    }
    auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
        tensors, {static_cast<size_t>(first_bucket_bytes), static_cast<size_t>(bucket_bytes)});
    // Gradients arrive roughly in the reverse order of definition.
    std::reverse(buckets.begin(), buckets.end());
    std::vector<bool> sparse(tensors.size(), false);
    reducer_ = std::make_unique<c10d::Reducer>(
        std::move(tensors), std::move(buckets), group_->group(), std::move(sparse), bucket_bytes,
        /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/false, std::move(names),
        first_bucket_bytes, /*skip_all_reduce_unused_params=*/false,
        /*use_python_reducer=*/false);
    reducer_->prepare_for_backward({});
  }

  void backward(const at::Tensor& loss) {
    refuse_if_failed();
    if (!loss.defined() || loss.numel() != 1 || !loss.requires_grad()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "loss must be a single number with a gradient, got " +
                      (loss.defined()
                           ? loss.toString() + " with " + std::to_string(loss.numel()) + " elements"
                           : std::string("an undefined tensor")));
    }
    const int64_t before = reductions();
    try {
      detail::guarded_collective([&] { loss.backward(); });
    } catch (const Error& e) {
      note_failure(e);
      throw;
    }
    if (reductions() == before) {
      throw Error(ErrorCode::kIllegalState, "the loss depends on no parameter of the model");
    }
  }

  [[nodiscard]] int64_t reduction_nanos() const {
    const std::lock_guard lock(mutex_);
    return reduction_time_.count();
  }

  [[nodiscard]] int64_t reductions() const {
    const std::lock_guard lock(mutex_);
    return reductions_;
  }

  [[nodiscard]] std::string failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  [[nodiscard]] int64_t parameter_count() const { return static_cast<int64_t>(parameters_.size()); }

  [[nodiscard]] const NamedTensor& parameter(int64_t index) const {
    if (index < 0 || index >= parameter_count()) {
      throw Error(ErrorCode::kInvalidArgument, "index must be in [0, " +
                                                   std::to_string(parameter_count()) + "), got " +
                                                   std::to_string(index));
    }
    return parameters_[static_cast<size_t>(index)];
  }

 private:
  void broadcast_from_rank_0(const std::vector<at::Tensor>& tensors) {
    if (group_->group() && !tensors.empty()) {
      const at::NoGradGuard no_grad;
      c10d::broadcast_coalesced(group_->group(), tensors, kBroadcastBytes, 0);
    }
  }

  void refuse_if_failed() const {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) {
      throw Error(ErrorCode::kIllegalState, "an earlier backward pass failed: " + failure_);
    }
  }

  // A failure before the first gradient changed nothing: the next backward pass may proceed.
  void note_failure(const Error& e) {
    const std::lock_guard lock(mutex_);
    if (task_ != kNoTask && failure_.empty()) {
      failure_ = message_of(e);
    }
  }

  void gradient_is_ready(size_t index) {
    const std::lock_guard lock(mutex_);
    const int task = torch::autograd::get_current_graph_task_id();
    if (failure_.empty() && task_ != kNoTask && task_ != task) {
      failure_ = "it ended before all gradients were averaged";
    }
    if (!failure_.empty()) {
      throw Error(ErrorCode::kIllegalState, "an earlier backward pass failed: " + failure_);
    }
    if (task_ == kNoTask) {
      task_ = task;
      ready_.assign(trained_.size(), false);
      // c10d queues its own callback with the last gradient; queuing in two steps puts ours after.
      Engine::get_default_engine().queue_callback(
          [this] { Engine::get_default_engine().queue_callback([this] { finish(); }); });
    }
    ready_[index] = true;
    last_gradient_ = Clock::now();
  }

  void finish() {
    const std::lock_guard lock(mutex_);
    const auto missing = std::find(ready_.begin(), ready_.end(), false);
    if (missing != ready_.end()) {
      failure_ = "parameter " + trained_[static_cast<size_t>(missing - ready_.begin())].name +
                 " (" + std::to_string(std::count(missing, ready_.end(), false)) +
                 " in total) received no gradient; every parameter that requires one must "
                 "contribute to the loss, on every rank";
      throw Error(ErrorCode::kIllegalState, failure_);
    }
    if (reducer_) {
      reducer_->rebuild_buckets();
      reducer_->prepare_for_backward({});
    }
    broadcast_from_rank_0(buffers_);
    reduction_time_ += Clock::now() - last_gradient_;
    ++reductions_;
    task_ = kNoTask;
  }

  LiveCount live_;
  std::shared_ptr<ProcessGroup::Impl> group_;
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> trained_;
  std::vector<at::Tensor> buffers_;
  std::unique_ptr<c10d::Reducer> reducer_;
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, uintptr_t>> hooks_;

  mutable std::mutex mutex_;
  int task_ = kNoTask;  // the backward pass in progress
  std::vector<bool> ready_;
  Clock::time_point last_gradient_;
  std::chrono::nanoseconds reduction_time_{0};
  int64_t reductions_ = 0;
  std::string failure_;
};

GradientReducer::GradientReducer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GradientReducer::~GradientReducer() = default;

std::unique_ptr<GradientReducer> GradientReducer::create(
    const ProcessGroup& group, const std::string& parameter_names,
    const std::vector<torch::Tensor>& parameters, const std::string& buffer_names,
    const std::vector<torch::Tensor>& buffers, int64_t first_bucket_bytes, int64_t bucket_bytes) {
  return detail::guarded_collective([&] {
    if (first_bucket_bytes < 1 || bucket_bytes < 1) {
      throw Error(ErrorCode::kInvalidArgument, "bucket sizes must be at least 1 byte, got " +
                                                   std::to_string(first_bucket_bytes) + " and " +
                                                   std::to_string(bucket_bytes));
    }
    auto impl = std::make_unique<Impl>(
        group.impl_, detail::name_tensors(parameter_names, parameters, "parameter"),
        detail::name_tensors(buffer_names, buffers, "buffer"));
    impl->arm(first_bucket_bytes, bucket_bytes);
    return std::unique_ptr<GradientReducer>(new GradientReducer(std::move(impl)));
  });
}

void GradientReducer::backward(const torch::Tensor& loss) {
  detail::guarded_collective([&] { impl_->backward(loss); });
}

int64_t GradientReducer::reduction_nanos() const { return impl_->reduction_nanos(); }

int64_t GradientReducer::reductions() const { return impl_->reductions(); }

std::string GradientReducer::failure() const { return impl_->failure(); }

int64_t GradientReducer::parameter_count() const { return impl_->parameter_count(); }

std::string GradientReducer::parameter_name(int64_t index) const {
  return guarded([&] { return impl_->parameter(index).name; });
}

torch::Tensor GradientReducer::parameter_bytes(int64_t index) const {
  return guarded([&] {
    return impl_->parameter(index).tensor.detach().contiguous().reshape({-1}).view(at::kByte);
  });
}

}  // namespace torchfeed
