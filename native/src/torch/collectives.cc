// SPDX-License-Identifier: Apache-2.0
#include "torch/collectives.h"

#include <algorithm>
#include <utility>

#include "torchfeed/process_group.h"

namespace torchfeed {
namespace {

c10d::ReduceOp::RedOpType c10d_op(int32_t op) {
  switch (op) {
    case ProcessGroup::kProduct:
      return c10d::ReduceOp::PRODUCT;
    case ProcessGroup::kMin:
      return c10d::ReduceOp::MIN;
    case ProcessGroup::kMax:
      return c10d::ReduceOp::MAX;
    case ProcessGroup::kBand:
      return c10d::ReduceOp::BAND;
    case ProcessGroup::kBor:
      return c10d::ReduceOp::BOR;
    case ProcessGroup::kBxor:
      return c10d::ReduceOp::BXOR;
    default:
      return c10d::ReduceOp::SUM;
  }
}

void reduce_into(at::Tensor& result, const at::Tensor& more, int32_t op) {
  switch (op) {
    case ProcessGroup::kProduct:
      result.mul_(more);
      break;
    case ProcessGroup::kMin:
      at::minimum_out(result, result, more);
      break;
    case ProcessGroup::kMax:
      at::maximum_out(result, result, more);
      break;
    case ProcessGroup::kBand:
      result.bitwise_and_(more);
      break;
    case ProcessGroup::kBor:
      result.bitwise_or_(more);
      break;
    case ProcessGroup::kBxor:
      result.bitwise_xor_(more);
      break;
    default:
      result.add_(more);
  }
}

}  // namespace

namespace detail {

at::Tensor dense(const at::Tensor& tensor) {
  return tensor.detach().resolve_conj().resolve_neg().contiguous();
}

at::Tensor as_bytes(const at::Tensor& dense) { return dense.reshape({-1}).view(at::kByte); }

void copy_back(const at::Tensor& tensor, const at::Tensor& dense) {
  if (!dense.is_alias_of(tensor)) {
    tensor.detach().copy_(dense);
  }
}

at::Tensor flattened(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> flat;
  flat.reserve(tensors.size());
  for (const auto& tensor : tensors) {
    flat.push_back(dense(tensor).reshape({-1}));
  }
  return at::cat(flat);
}

void unflatten(const at::Tensor& flat, const std::vector<at::Tensor>& tensors) {
  int64_t start = 0;
  for (const auto& tensor : tensors) {
    tensor.detach().copy_(flat.narrow(0, start, tensor.numel()).view(tensor.sizes()));
    start += tensor.numel();
  }
}

int64_t elements(const std::vector<at::Tensor>& tensors) {
  int64_t elements = 0;
  for (const auto& tensor : tensors) {
    elements += tensor.numel();
  }
  return elements;
}

}  // namespace detail

using detail::CallSignature;
using detail::dense;
using detail::Operation;

Collectives::Collectives(const GroupBackends& backends, InFlight& in_flight, int64_t rank,
                         int64_t world_size, Protocol protocol)
    : backends_(backends),
      in_flight_(in_flight),
      rank_(rank),
      world_size_(world_size),
      protocol_(protocol) {}

bool Collectives::is_between_devices(const at::Tensor& like) const {
  return backends_.device == like.device();
}

bool Collectives::sends(const at::Tensor& like) const {
  return backends_.host || is_between_devices(like);
}

c10d::Backend& Collectives::backend_of(const at::Tensor& sendable) const {
  return is_between_devices(sendable) ? *backends_.device_backend : *backends_.host;
}

at::Tensor Collectives::sendable(const at::Tensor& tensor) const {
  const at::Tensor values = dense(tensor);
  return is_between_devices(tensor) || !backends_.host ? values : values.cpu();
}

at::Tensor Collectives::reducible(const at::Tensor& tensor, int32_t op) const {
  // NCCL has no bitwise reductions.
  return op >= ProcessGroup::kBand ? sendable(tensor).cpu() : sendable(tensor);
}

void Collectives::await(const at::Tensor& sendable, const c10::intrusive_ptr<c10d::Work>& work,
                        Needs needs) {
  if (is_between_devices(sendable)) {
    in_flight_.await_on_device(work, needs);
  } else {
    in_flight_.await(work, needs);
  }
}

// If the ranks have compared the call, all of them have begun it.
Needs Collectives::rooted(Needs::Pattern pattern, int64_t root) const {
  return is_checked() ? Needs{} : Needs{pattern, root};
}

void Collectives::check_tensor(const at::Tensor& tensor) const {
  detail::check_tensor(tensor);
  const c10::Device device = tensor.device();
  if (backends_.device && device.type() == backends_.device->type() &&
      device != *backends_.device) {
    detail::refuse("tensor must be on cpu or " + backends_.device->str() +
                   ", with which the group was joined, got one on " + device.str());
  }
}

void Collectives::check_tensors(const Tensors& tensors) const {
  detail::check_tensors(tensors);
  check_tensor(tensors[0]);
}

CallSignature Collectives::signature(Operation operation, const Tensors& tensors) const {
  return CallSignature(operation).tensors(tensors).between_devices(is_between_devices(tensors[0]));
}

// Mismatched sizes would abort the process inside Gloo, so they are detected first.
// A rank that rejects its own arguments announces it, since the others would wait for it.
void Collectives::agree(const Check& check, const Describe& describe) {
  if (!backends_.host || !is_checked()) {
    check();
    return;
  }
  const std::string refusal = detail::refusal_by(check);
  compare(refusal, refusal.empty() ? describe() : CallSignature(Operation::kRefused));
}

/// Returns whether all ranks have the same number: the largest is the smallest. Gloo cuts a message
/// of more numbers into segments, each of which costs as much as this.
bool Collectives::are_equal(int64_t number) {
  Tensors extremes = {at::empty({2}, at::kLong)};
  auto* numbers = extremes[0].mutable_data_ptr<int64_t>();
  numbers[0] = number;
  numbers[1] = ~number;  // reverses the order, and cannot overflow
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  in_flight_.await(backends_.host->allreduce(extremes, options));
  return numbers[0] == ~numbers[1];
}

void Collectives::compare(const std::string& refusal, const CallSignature& mine) {
  if (are_equal(mine.digest()) && refusal.empty()) {
    return;
  }
  const at::Tensor all = gather_sendable(mine.words());
  const auto* rows = all.const_data_ptr<int64_t>();
  constexpr auto kWords = CallSignature::kWords;
  if (!refusal.empty()) {
    detail::refuse(refusal);
  }
  for (int64_t other = 0; other < world_size_; ++other) {
    if (rows[other * kWords] == static_cast<int64_t>(Operation::kRefused)) {
      detail::refuse("rank " + std::to_string(other) +
                     " rejected its own arguments; see its log for the reason");
    }
  }
  for (int64_t other = 1; other < world_size_; ++other) {
    const auto* row = rows + other * kWords;
    if (!std::equal(rows, rows + kWords, row)) {
      detail::refuse("all ranks must make the same call: rank 0 calls " +
                     CallSignature::describe(rows) + ", rank " + std::to_string(other) + " calls " +
                     CallSignature::describe(row));
    }
  }
}

void Collectives::barrier() {
  agree([] {}, [] { return CallSignature(Operation::kBarrier); });
  if (backends_.host) {
    in_flight_.await(backends_.host->barrier(c10d::BarrierOptions()));
  }
}

void Collectives::all_reduce(const Tensors& tensors, int32_t op) {
  const at::NoGradGuard no_grad;
  agree(
      [&] {
        check_tensors(tensors);
        detail::check_reducible(tensors[0], op);
      },
      [&] { return signature(Operation::kAllReduce, tensors).op(op); });
  if (is_silent(tensors[0], detail::elements(tensors))) {
    return;
  }
  const bool is_single = tensors.size() == 1;
  Tensors sent = {reducible(is_single ? tensors[0] : detail::flattened(tensors), op)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d_op(op);
  if (sends(sent[0])) {
    await(sent[0], backend_of(sent[0]).allreduce(sent, options));
  }
  if (op == ProcessGroup::kMean) {
    sent[0].div_(world_size_);
  }
  if (is_single) {
    detail::copy_back(tensors[0], sent[0]);
  } else {
    detail::unflatten(sent[0], tensors);
  }
}

void Collectives::reduce(const at::Tensor& tensor, int32_t op, int64_t root) {
  const at::NoGradGuard no_grad;
  agree(
      [&] {
        check_tensor(tensor);
        detail::check_reducible(tensor, op);
        detail::check_rank("root", root, world_size_);
      },
      [&] { return signature(Operation::kReduce, {tensor}).op(op).root(root); });
  if (is_silent(tensor, tensor.numel())) {
    return;
  }
  // Gloo leaves partial results in the tensors of the other ranks.
  const at::Tensor values = reducible(tensor, op);
  Tensors sent = {rank_ == root ? values : values.clone()};
  c10d::ReduceOptions options;
  options.reduceOp = c10d_op(op);
  options.rootRank = root;
  if (sends(sent[0])) {
    await(sent[0], backend_of(sent[0]).reduce(sent, options), rooted(Needs::Pattern::kRoot, root));
  }
  if (rank_ == root) {
    if (op == ProcessGroup::kMean) {
      sent[0].div_(world_size_);
    }
    detail::copy_back(tensor, sent[0]);
  }
}

// Python's takes twice the traffic: Gloo performs an all-reduce and drops the rest.
void Collectives::reduce_scatter(const Tensors& outputs, const Tensors& inputs, int32_t op) {
  const at::NoGradGuard no_grad;
  agree(
      [&] {
        check_tensors(outputs);
        check_tensors(inputs);
        detail::check_reducible(inputs[0], op);
        if (inputs.size() != outputs.size() ||
            inputs[0].scalar_type() != outputs[0].scalar_type()) {
          detail::refuse("inputs and outputs must be equally many and of one dtype");
        }
        for (size_t i = 0; i < inputs.size(); ++i) {
          if (inputs[i].numel() != world_size_ * outputs[i].numel()) {
            detail::refuse("an input must hold one output for each of " +
                           std::to_string(world_size_) + " ranks, got " +
                           std::to_string(inputs[i].numel()) + " elements for outputs of " +
                           std::to_string(outputs[i].numel()));
          }
        }
      },
      [&] { return signature(Operation::kReduceScatter, outputs).op(op); });
  if (sends(inputs[0]) && protocol_ == Protocol::kPython) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const at::Tensor all = dense(inputs[i]).clone();
      all_reduce({all}, op);
      const at::Tensor mine = all.reshape({world_size_, outputs[i].numel()}).select(0, rank_);
      detail::unflatten(mine, {outputs[i]});
    }
    return;
  }
  if (detail::elements(outputs) == 0) {
    return;
  }
  Tensors rows;  // of each input, one row for each rank
  for (size_t i = 0; i < inputs.size(); ++i) {
    rows.push_back(dense(inputs[i]).reshape({world_size_, outputs[i].numel()}));
  }
  const at::Tensor sent = sendable(rows.size() == 1 ? rows[0] : at::cat(rows, 1));
  at::Tensor received = sent;
  if (sends(sent)) {
    received = at::empty_like(sent);
    exchange_bytes(detail::as_bytes(received), detail::as_bytes(sent), {}, {});
  }
  at::Tensor result = received.select(0, 0).clone();
  for (int64_t other = 1; other < world_size_; ++other) {
    reduce_into(result, received.select(0, other), op);
  }
  if (op == ProcessGroup::kMean) {
    result.div_(world_size_);
  }
  detail::unflatten(result, outputs);
}

}  // namespace torchfeed
