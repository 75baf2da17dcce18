// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "torch/reduce/python_replica.h"
#include "torch/reduce/reducer_impl.h"

namespace torchfeed {
namespace {

using detail::NamedTensor;

/// @param with_empty  whether tensors without elements count
std::vector<at::Tensor> detached(const std::vector<NamedTensor>& named, bool with_empty) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : named) {
    if (with_empty || tensor.numel() > 0) {
      tensors.push_back(tensor.detach());
    }
  }
  return tensors;
}

/// Describes the options by their names in Java, one per line.
std::string describe(const ReducerOptions& options) {
  static constexpr std::array<const char*, ReducerOptions::kBufferModeCount> kModes = {
      "OFF", "ON_REQUEST", "BEFORE_FORWARD", "AFTER_BACKWARD"};
  std::ostringstream out;
  out << std::boolalpha << "bucketBytes " << options.first_bucket_bytes << ", "
      << options.bucket_bytes << "\nfindUnusedParameters " << options.find_unused_parameters
      << "\nstaticGraph " << options.static_graph << "\ngradientAsBucketView "
      << options.gradient_as_bucket_view << "\nbufferMode "
      << kModes.at(static_cast<size_t>(options.buffer_mode)) << "\nexchange "
      << detail::describe_exchange(options.exchange);
  const char* before = "\nbucketBytesList ";
  for (const auto size : detail::bucket_sizes(options)) {
    out << std::exchange(before, ", ") << size;
  }
  if (options.weighted_losses) {
    out << "\nweightedLosses true";
  }
  for (const auto& name : detail::lines_of(options.ignored_names)) {
    out << "\nignored " << name;
  }
  for (const auto& name : detail::lines_of(options.sparse_names)) {
    out << "\nsparse parameter " << name;
  }
  out << '\n';
  return out.str();
}

}  // namespace

GradientReducer::Impl::Impl(std::shared_ptr<ProcessGroup::Impl> group,
                            std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
                            const ReducerOptions& options)
    : options_(options), parameters_(std::move(parameters)), named_buffers_(std::move(buffers)) {
  const auto sparse = detail::lines_of(options_.sparse_names);
  for (const auto& parameter : parameters_) {
    if (parameter.tensor.requires_grad()) {
      trained_.push_back(parameter);
      sparse_.push_back(std::find(sparse.begin(), sparse.end(), parameter.name) != sparse.end());
    }
  }
  layout_ = describe(options_) + detail::describe_layout(parameters_, "parameter") +
            detail::describe_layout(named_buffers_, "buffer");
  if (detail::has_exchange(options_.exchange)) {
    exchange_ = detail::make_exchange(options_.exchange);
  }
  const Origin origin = group->has_python_ranks() ? Origin{} : meet(*group, /*is_rebound=*/false);
  enter(std::move(group), origin);
}

/// Each rank sends the state of its exchange in a line before its layout.
GradientReducer::Impl::Origin GradientReducer::Impl::meet(ProcessGroup::Impl& group,
                                                          bool is_rebound) const {
  std::ostringstream mine;
  mine << is_rebound;
  if (is_rebound && exchange_) {
    mine << ' ' << exchange_->steps() << ' ' << exchange_->random();
  }
  mine << '\n' << layout_;
  group.barrier();  // reports a rank that calls something else
  auto texts = group.gather_texts(mine.str());
  Origin origin;
  int64_t trained = 0;
  for (size_t rank = texts.size(); rank-- > 0;) {
    const auto end = texts[rank].find('\n');
    std::istringstream head(texts[rank].substr(0, end));
    bool has_trained = false;
    head >> has_trained;
    if (has_trained) {
      origin = {};
      origin.rank = static_cast<int64_t>(rank);
      origin.is_rebound = true;
      head >> origin.exchange_steps >> std::ws;
      std::getline(head, origin.exchange_random);
      trained += origin.exchange_steps > 0 ? 1 : 0;
    }
    texts[rank].erase(0, end + 1);
  }
  origin.trained = trained;
  detail::check_same_layout(texts);
  return origin;
}

void GradientReducer::Impl::enter(std::shared_ptr<ProcessGroup::Impl> group, const Origin& origin) {
  sender_.reset();  // the group that is left closes without waiting, but only as the last owner
  group_ = std::move(group);
  sender_ = group_->group(detail::device_of(parameters_, named_buffers_));
  if (trained_.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "at least one parameter must require a gradient, got " +
                    std::to_string(parameters_.size()) + " parameters that do not");
  }
  if (group_->has_python_ranks()) {
    detail::check_python_options(options_);
    detail::compare_with_python(sender_, trained_);
  }
  detail::check_exchangeable(options_.exchange, trained_, sparse_);
  detail::check_weighable(options_, trained_, sparse_);
  check_communicators();
  auto state = detached(parameters_, group_->has_python_ranks());
  buffers_ = detached(named_buffers_, group_->has_python_ranks());
  if (options_.buffer_mode != ReducerOptions::kOff) {
    state.insert(state.end(), buffers_.begin(), buffers_.end());
  }
  broadcast(state, origin.rank);
  share_exchange(origin);
}

/// The unused parameters travel through this group, while a thread exchanges gradients in another.
void GradientReducer::Impl::check_communicators() const {
  if (detail::has_exchange(options_.exchange) && options_.find_unused_parameters &&
      !options_.static_graph && group_->sends_from(trained_.front().tensor.device())) {
    throw Error(ErrorCode::kInvalidArgument,
                "findUnusedParameters takes only the exchange allReduce without nodes in a group "
                "with a device, since NCCL allows no two communicators of a device at the same "
                "time, got " +
                    detail::describe_exchange(options_.exchange));
  }
}

/// Gives the exchange the origin's steps, random numbers and shared tensors; of its own tensors, it
/// keeps those that the origin's steps still need. The mean of the errors over the ranks, which the
/// next pass feeds back, becomes the mean over the ranks that have any.
void GradientReducer::Impl::share_exchange(const Origin& origin) {
  if (!exchange_ || !origin.is_rebound) {
    return;
  }
  const at::NoGradGuard no_grad;
  std::unordered_map<std::string, at::Tensor> own;
  for (const auto& [name, tensor] : exchange_->kept(trained_)) {
    own.emplace(name, tensor);
  }
  exchange_->begin_after(origin.exchange_steps, origin.exchange_random, trained_);
  for (const auto& [name, tensor] : exchange_->kept(trained_)) {
    const auto found = own.find(name);
    if (found != own.end()) {
      tensor.copy_(found->second);
    }
  }
  if (origin.trained > 0 && origin.trained < group_->world_size()) {
    exchange_->scale_errors(static_cast<double>(group_->world_size()) /
                            static_cast<double>(origin.trained));
  }
  broadcast(exchange_->shared(trained_), origin.rank);
}

void GradientReducer::Impl::check_can_rebind(const ProcessGroup::Impl& group) const {
  const std::lock_guard lock(mutex_);
  if (torch::autograd::get_current_graph_task_id() >= 0) {
    throw Error(ErrorCode::kIllegalState,
                "a group is changed between backward passes, but one is in progress");
  }
  refuse_open_step("a group is changed");
  if (!synchronized_) {
    throw Error(ErrorCode::kIllegalState,
                "a group is changed outside of noSync; close the scope first");
  }
  if (group.has_python_ranks()) {
    throw Error(ErrorCode::kInvalidArgument, "a group cannot be changed for one with Python ranks");
  }
  const bool was_alone = group_->world_size() == 1;
  const bool is_alone = group.world_size() == 1;
  if (options_.exchange.kind == ExchangeOptions::kQAdam && was_alone != is_alone) {
    throw Error(ErrorCode::kInvalidArgument,
                "with the exchange qAdam, a group of " + std::to_string(group_->world_size()) +
                    " ranks cannot be changed for one of " + std::to_string(group.world_size()) +
                    ": in a group of one rank, the optimizer keeps the moments");
  }
  detail::check_exchange(options_.exchange, group.world_size());
}

void GradientReducer::Impl::rebind(std::shared_ptr<ProcessGroup::Impl> group) {
  check_can_rebind(*group);
  {
    const std::lock_guard lock(mutex_);
    note_interruption();
    if (!failure_.empty()) {
      drop_buckets();  // which may still be exchanged
    } else if (reducer_) {
      (void)reducer_->exchange();  // shows the writes of its thread
    }
  }
  const Origin origin = meet(*group, /*is_rebound=*/true);
  const std::lock_guard lock(mutex_);
  failure_ = "the ranks of another group did not complete rebind";
  drop_buckets();
  enter(std::move(group), origin);
  form_buckets();
  used_.clear();
  buffers_are_due_ = true;
  reducing_ = false;
  counted_ = 0;
  failure_.clear();
}

void GradientReducer::Impl::form_buckets() {
  if (sender_) {
    reducer_ = std::make_unique<detail::BucketReducer>(sender_, trained_, sparse_, options_);
  }
}

void GradientReducer::Impl::drop_buckets() {
  if (!reducer_) {
    return;
  }
  communication_before_ += reducer_->communication();
  overlapped_before_ += reducer_->overlapped();
  try {
    reducer_.reset();
  } catch (const std::exception& e) {
    TORCH_WARN("closing a gradient reducer: ", e.what());
  }
}

}  // namespace torchfeed
