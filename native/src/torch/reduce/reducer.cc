// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/reducer.h"

#include <ATen/ATen.h>

#include <utility>

#include "torch/group/collective_errors.h"
#include "torch/reduce/reducer_impl.h"

namespace torchfeed {
namespace {

void check_options(const ReducerOptions& options, int64_t world_size) {
  if (options.first_bucket_bytes < 1 || options.bucket_bytes < 1) {
    throw Error(ErrorCode::kInvalidArgument, "bucket sizes must be at least 1 byte, got " +
                                                 std::to_string(options.first_bucket_bytes) +
                                                 " and " + std::to_string(options.bucket_bytes));
  }
  (void)detail::bucket_sizes(options);
  if (options.buffer_mode < 0 || options.buffer_mode >= ReducerOptions::kBufferModeCount) {
    throw Error(ErrorCode::kInvalidArgument, "buffer_mode must be in [0, " +
                                                 std::to_string(ReducerOptions::kBufferModeCount) +
                                                 "), got " + std::to_string(options.buffer_mode));
  }
  detail::check_exchange(options.exchange, world_size);
  detail::check_weights(options);
}

}  // namespace

GradientReducer::GradientReducer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GradientReducer::~GradientReducer() = default;

std::unique_ptr<GradientReducer> GradientReducer::create(
    const ProcessGroup& group, const std::string& parameter_names,
    const std::vector<torch::Tensor>& parameters, const std::string& buffer_names,
    const std::vector<torch::Tensor>& buffers, const ReducerOptions& options) {
  return detail::guarded_collective([&] {
    check_options(options, group.world_size());
    auto impl = std::make_unique<Impl>(
        group.impl_, detail::name_tensors(parameter_names, parameters, "parameter"),
        detail::name_tensors(buffer_names, buffers, "buffer"), options);
    impl->arm();
    return std::unique_ptr<GradientReducer>(new GradientReducer(std::move(impl)));
  });
}

bool GradientReducer::needs_exchange_group() const { return impl_->needs_exchange_group(); }

void GradientReducer::exchange_over(const ProcessGroup& group) {
  guarded([&] { impl_->exchange_over({.all = group.impl_, .node = nullptr, .leaders = nullptr}); });
}

void GradientReducer::exchange_between_nodes(const ProcessGroup& group, const ProcessGroup& node,
                                             const ProcessGroup* leaders) {
  guarded([&] {
    impl_->exchange_over(
        {.all = group.impl_, .node = node.impl_, .leaders = leaders ? leaders->impl_ : nullptr});
  });
}

void GradientReducer::rebind(const ProcessGroup& group) {
  detail::guarded_collective([&] { impl_->rebind(group.impl_); });
}

void GradientReducer::rescale_exchange(double factor) {
  guarded([&] { impl_->rescale_exchange(factor); });
}

void GradientReducer::set_synchronized(bool synchronized) {
  guarded([&] { impl_->set_synchronized(synchronized); });
}

bool GradientReducer::is_synchronized() const { return impl_->is_synchronized(); }

void GradientReducer::before_forward() {
  detail::guarded_collective([&] { impl_->before_forward(); });
}

void GradientReducer::backward(const torch::Tensor& loss) {
  detail::guarded_collective([&] { impl_->backward(loss); });
}

void GradientReducer::backward(const torch::Tensor& loss, double weight) {
  detail::guarded_collective([&] { impl_->backward(loss, weight); });
}

void GradientReducer::average_accumulated() {
  detail::guarded_collective([&] { impl_->average_accumulated(); });
}

double GradientReducer::clip(double max_norm) {
  return guarded([&] { return impl_->clip(max_norm); });
}

void GradientReducer::check_usable() {
  guarded([&] { impl_->check_complete_pass(); });
}

void GradientReducer::broadcast_buffers() {
  detail::guarded_collective([&] { impl_->broadcast_buffers(); });
}

std::string GradientReducer::layout() const { return impl_->layout(); }

ReducerState GradientReducer::state() {
  return detail::guarded_collective([&] { return impl_->state(); });
}

void GradientReducer::restore(const ReducerState& state) {
  guarded([&] { impl_->restore(state); });
}

void GradientReducer::begin_uneven_inputs(int64_t passes, bool divides_by_active) {
  detail::guarded_collective([&] { impl_->begin_uneven_inputs(passes, divides_by_active); });
}

void GradientReducer::announce() {
  detail::guarded_collective([&] { impl_->announce(); });
}

bool GradientReducer::shadow() {
  return detail::guarded_collective([&] { return impl_->shadow(); });
}

void GradientReducer::end_uneven_inputs() { impl_->end_uneven_inputs(); }

int64_t GradientReducer::reduction_nanos() const { return impl_->reduction_nanos(); }

int64_t GradientReducer::communication_nanos() const { return impl_->communication_nanos(); }

int64_t GradientReducer::overlapped_nanos() const { return impl_->overlapped_nanos(); }

int64_t GradientReducer::reductions() const { return impl_->reductions(); }

std::string GradientReducer::failure() const { return impl_->failure(); }

int64_t GradientReducer::bucket_count() const { return impl_->bucket_count(); }

std::string GradientReducer::bucket_parameters(int64_t bucket) const {
  return guarded([&] { return impl_->bucket_parameters(bucket); });
}

int64_t GradientReducer::bucket_bytes(int64_t bucket) const {
  return guarded([&] { return impl_->bucket(bucket).bytes; });
}

int64_t GradientReducer::bucket_sent_bytes(int64_t bucket) const {
  return guarded([&] { return impl_->bucket(bucket).sent_bytes; });
}

int64_t GradientReducer::bucket_reductions(int64_t bucket) const {
  return guarded([&] { return impl_->bucket(bucket).reductions; });
}

int64_t GradientReducer::bucket_nanos(int64_t bucket) const {
  return guarded([&] { return static_cast<int64_t>(impl_->bucket(bucket).time.count()); });
}

int64_t GradientReducer::parameter_count() const { return impl_->parameter_count(); }

std::string GradientReducer::parameter_name(int64_t index) const {
  return guarded([&] { return impl_->parameter(index).name; });
}

torch::Tensor GradientReducer::parameter_bytes(int64_t index) const {
  return guarded([&] {
    return impl_->parameter(index).tensor.detach().cpu().contiguous().reshape({-1}).view(at::kByte);
  });
}

}  // namespace torchfeed
