// SPDX-License-Identifier: Apache-2.0
#include "torch/reduce/bucket_reducer.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/version.h>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed::detail {
namespace {

using torch::autograd::Node;

/// Returns whether the backward pass in progress will call the node.
bool is_reached(Node* node) {
  const auto* selected = torch::autograd::get_current_graph_task_exec_info();
  if (selected != nullptr && !selected->empty()) {
    const auto found = selected->find(node);
    return found != selected->end() && found->second.should_execute();
  }
  const auto* nodes = torch::autograd::get_current_graph_task_nodes_in_graph();
  return nodes != nullptr && nodes->count(node) > 0;
}

/// Returns a tensor from whose graph `c10d::Reducer` reads which parameters are used. The engine
/// knows the graph of the backward pass in progress, so the loss is not needed.
at::Tensor output_of_graph_in_progress(const std::vector<GraphNode>& accumulators, size_t first) {
  torch::autograd::edge_list edges;
  for (size_t i = 0; i < accumulators.size(); ++i) {
    if (i == first || is_reached(accumulators[i].get())) {
      edges.emplace_back(accumulators[i], 0);
    }
  }
  at::Tensor output = at::empty({0});
  torch::autograd::impl::set_gradient_edge(
      output, {make_graph_node<torch::autograd::GraphRoot>(std::move(edges),
                                                           torch::autograd::variable_list{}),
               0});
  return output;
}

/// An operation that has ended with a number.
class Known : public c10d::Work {
 public:
  explicit Known(int64_t number) {
    const std::vector<at::Tensor> result = {at::scalar_tensor(number, at::kLong)};
    future_->markCompleted(c10::IValue(result));
  }
  bool wait(std::chrono::milliseconds /*timeout*/) override { return true; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> future_ =
      c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
};

/// Returns whether a gradient is the memory of the arrived one, and something else has it too.
bool is_shared(const at::Tensor& gradient, const at::Tensor& arrived) {
  if (!arrived.defined() || !arrived.has_storage() || !gradient.is_alias_of(arrived)) {
    return false;  // it existed before this pass
  }
  constexpr size_t kHolders = 2;  // the gradient and the arrived one
  return gradient.storage().use_count() > kHolders;
}

}  // namespace

void own_gradient(const at::Tensor& parameter, const at::Tensor& arrived, bool as_view) {
  const at::Tensor& gradient = parameter.grad();
  // libtorch divides sparse gradients where they are, in the middle of the backward pass.
  if (gradient.defined() && (gradient.is_sparse() || (!as_view && is_shared(gradient, arrived)))) {
    const at::NoGradGuard no_grad;
    at::Tensor copy = gradient.clone();
    parameter.mutable_grad() = std::move(copy);
  }
}

at::Tensor no_gradient(const at::Tensor& table) {
  return at::_sparse_coo_tensor_with_dims(/*sparse_dim=*/1, table.dim() - 1, table.sizes(),
                                          table.options().layout(at::kSparse));
}

bool ChosenBuckets::rebuild(const std::vector<size_t>& sizes) {
  const std::lock_guard lock(mutex_);
  ensure_prior_reduction_finished();
  if (!should_rebuild_buckets() || rebuilt_params_.empty()) {
    return false;
  }
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(
      rebuilt_params_, sizes, expect_sparse_gradients_, rebuilt_param_indices_, logger_));
  sync_bucket_indices(buckets);
  has_rebuilt_bucket_ = true;
  rebuilt_params_.clear();
  rebuilt_param_indices_.clear();
  initialize_buckets(std::move(buckets));
  return true;
}

void ChosenBuckets::choose(std::vector<std::vector<size_t>> buckets) {
  const std::lock_guard lock(mutex_);
  initialize_buckets(std::move(buckets));
  has_rebuilt_bucket_ = true;
}

at::Tensor ChosenBuckets::with_numbers(int64_t count) {
  const std::lock_guard lock(mutex_);
  const auto bucket = std::find_if(buckets_.begin(), buckets_.end(), [](const Bucket& each) {
    return !each.expect_sparse_gradient && at::isFloatingType(each.gradients.scalar_type());
  });
  const auto gradients = static_cast<int64_t>(bucket->offsets.back() + bucket->lengths.back());
  if (bucket->gradients.numel() == gradients) {
    bucket->gradients = at::empty({gradients + count}, bucket->gradients.options());
    bucket->bucket_views_in.clear();
    bucket->bucket_views_out.clear();
    initialize_bucket_views(*bucket);
  }
  return bucket->gradients.narrow(0, gradients, count);
}

std::vector<int64_t> ChosenBuckets::uses() const {
  std::vector<int64_t> uses;
  for (size_t i = 0; i < params_.size(); ++i) {
    const auto found = numGradHooksTriggeredMap_.find(i);
    uses.push_back(found == numGradHooksTriggeredMap_.end() ? 0 : found->second);
  }
  const auto* used = local_used_map_.const_data_ptr<int>();
  for (size_t i = 0; i < params_.size(); ++i) {
    uses.push_back(used[i] > 0 ? 1 : 0);
  }
  return uses;
}

void ChosenBuckets::assume_first_pass(const std::vector<int64_t>& uses) {
  const std::lock_guard lock(mutex_);
  auto* used = local_used_map_.mutable_data_ptr<int>();
  for (size_t i = 0; i < params_.size(); ++i) {
    numGradHooksTriggeredMap_[i] = static_cast<int>(uses[i]);
    if (uses[i] == 0) {
      unused_parameters_.push_back(i);
    }
    used[i] = static_cast<int>(uses[params_.size() + i]);
  }
  local_used_map_reduced_ = true;
  num_bwd_calls_ = 1;
}

std::vector<size_t> bucket_sizes(const ReducerOptions& options) {
  std::vector<size_t> sizes;
  for (const auto& line : lines_of(options.bucket_bytes_list)) {
    const int64_t size = std::stoll(line);
    if (size < 1) {
      throw Error(ErrorCode::kInvalidArgument, "bucket sizes must be at least 1 byte, got " + line);
    }
    sizes.push_back(static_cast<size_t>(size));
  }
  return sizes;
}

BucketReducer::BucketReducer(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                             const std::vector<NamedTensor>& parameters,
                             const std::vector<bool>& sparse, const ReducerOptions& options)
    : find_unused_(options.find_unused_parameters && !options.static_graph),
      weight_numbers_(options.weighted_losses ? weight_numbers(group->getSize()) : 0),
      sizes_(bucket_sizes(options)) {
  std::vector<at::Tensor> tensors;
  std::unordered_map<size_t, std::string> names;
  for (const auto& [name, tensor] : parameters) {
    names.emplace(tensors.size(), name);
    tensors.push_back(tensor);
  }
  // As in PyTorch: buckets that are formed again after the first backward pass are one at first.
  std::vector<size_t> limits = {std::numeric_limits<int64_t>::max()};
  if (!sizes_.empty()) {
    limits = sizes_;
  } else if (find_unused_) {
    limits = {static_cast<size_t>(options.first_bucket_bytes),
              static_cast<size_t>(options.bucket_bytes)};
  }
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(tensors, limits, sparse));
  // Gradients arrive roughly in the reverse order of definition.
  std::reverse(buckets.begin(), buckets.end());
  reducer_ = std::make_shared<ChosenBuckets>(
      std::move(tensors), std::move(buckets), timed_group(group, log_), sparse,
      options.bucket_bytes, options.find_unused_parameters, options.gradient_as_bucket_view,
      std::move(names), options.first_bucket_bytes, /*skip_all_reduce_unused_params=*/false,
      /*use_python_reducer=*/false
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
      ,
      /*bucket_bytes_cap_list=*/std::vector<int64_t>()
#endif
  );
  logger_ = std::make_shared<c10d::Logger>(reducer_);
  reducer_->set_logger(logger_);
  if (options.static_graph) {
    reducer_->set_static_graph();
  }
  list_buckets();
}

void BucketReducer::exchange_over(ExchangeGroups groups,
                                  std::shared_ptr<GradientExchange> exchange) {
  exchange_ = std::make_unique<ExchangeThread>(std::move(groups), std::move(exchange), log_);
  reducer_->register_comm_hook(exchange_->hook());
}

void BucketReducer::rebuild() {
  if (sizes_.empty() ? reducer_->rebuild_buckets() : reducer_->rebuild(sizes_)) {
    list_buckets();
  }
}

GradientExchange* BucketReducer::exchange() const {
  return exchange_ ? &exchange_->idle() : nullptr;
}

void BucketReducer::choose(std::vector<std::vector<size_t>> buckets) {
  reducer_->choose(std::move(buckets));
  list_buckets();
}

void BucketReducer::begin_backward(const std::vector<GraphNode>& accumulators, size_t first) {
  rebuild();
  log_->restart();
  if (find_unused_) {
    reducer_->prepare_for_backward({output_of_graph_in_progress(accumulators, first)});
  } else {
    reducer_->prepare_for_backward({});
  }
  if (weight_numbers_ > 0) {
    weights_ = reducer_->with_numbers(weight_numbers_);
  }
}

void BucketReducer::divide_by(int64_t ranks) {
  reducer_->set_forward_pass_work_handle(c10::make_intrusive<Known>(ranks),
                                         /*useStaticWorldSize=*/false);
}

void BucketReducer::end_backward(ReductionLog::Clock::time_point last_gradient) {
  const auto entries = log_->entries();
  for (size_t i = 0; i < std::min(entries.size(), buckets_.size()); ++i) {
    buckets_[i].bytes = entries[i].bytes;
    buckets_[i].sent_bytes = entries[i].sent_bytes;
    ++buckets_[i].reductions;
    buckets_[i].time += entries[i].end - entries[i].start;
  }
  if (entries.empty()) {
    return;
  }
  const auto start = entries.front().start;
  auto end = start;
  for (const auto& entry : entries) {
    end = std::max(end, entry.end);
  }
  communication_ += end - start;
  overlapped_ += std::clamp(last_gradient, start, end) - start;
}

void BucketReducer::list_buckets() {
  buckets_.clear();
  for (auto& parameters : logger_->get_per_bucket_variable_indices()) {
    buckets_.push_back({std::move(parameters)});
  }
}

}  // namespace torchfeed::detail
