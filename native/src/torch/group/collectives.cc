// SPDX-License-Identifier: Apache-2.0
#include "torch/group/collectives.h"

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

int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.numel() * static_cast<int64_t>(tensor.element_size());
}

int64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const auto& tensor : tensors) {
    bytes += bytes_of(tensor);
  }
  return bytes;
}

at::Tensor bytes_of_all(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> bytes;
  bytes.reserve(tensors.size());
  for (const auto& tensor : tensors) {
    bytes.push_back(as_bytes(dense(tensor)));
  }
  return bytes.size() == 1 ? bytes[0] : at::cat(bytes);
}

}  // namespace detail

using detail::CallExchange;
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
CallExchange Collectives::agree(const Check& check, const Describe& describe,
                                const Values& values) {
  if (!backends_.host || !is_checked()) {
    check();
    return {};
  }
  const std::string refusal = detail::refusal_by(check);
  CallExchange exchange(*backends_.host, in_flight_,
                        refusal.empty() ? describe() : CallSignature(Operation::kRefused),
                        refusal.empty() ? values : Values());
  compare(refusal, exchange);
  return exchange;
}

void Collectives::compare(const std::string& refusal, const CallExchange& exchange) const {
  if (!refusal.empty()) {
    detail::refuse(refusal);
  }
  for (int64_t other = 0; other < world_size_; ++other) {
    if (exchange.words(other)[0] == static_cast<int64_t>(Operation::kRefused)) {
      detail::refuse("rank " + std::to_string(other) +
                     " rejected its own arguments; see its log for the reason");
    }
  }
  const int64_t* first = exchange.words(0);
  for (int64_t other = 1; other < world_size_; ++other) {
    const int64_t* words = exchange.words(other);
    if (!std::equal(first, first + CallSignature::kWords, words)) {
      detail::refuse("all ranks must make the same call: rank 0 calls " +
                     CallSignature::describe(first) + ", rank " + std::to_string(other) +
                     " calls " + CallSignature::describe(words));
    }
  }
}

bool Collectives::is_carried(const at::Tensor& like, int64_t bytes) const {
  return is_checked() && backends_.host && !is_between_devices(like) && bytes > 0 &&
         bytes <= CallExchange::kMaxBytes;
}

at::Tensor Collectives::reduced(const CallExchange& exchange, const at::Tensor& like,
                                int32_t op) const {
  at::Tensor result = exchange.values(0, like);
  for (int64_t other = 1; other < world_size_; ++other) {
    reduce_into(result, exchange.values(other, like), op);
  }
  return result;
}

void Collectives::barrier() {
  const auto exchange = agree([] {}, [] { return CallSignature(Operation::kBarrier); });
  if (backends_.host && exchange.is_empty()) {
    in_flight_.await(backends_.host->barrier(c10d::BarrierOptions()));
  }
}

void Collectives::all_reduce(const Tensors& tensors, int32_t op) {
  const at::NoGradGuard no_grad;
  const bool is_single = tensors.size() == 1;
  const auto values = [&] {
    return reducible(is_single ? tensors[0] : detail::flattened(tensors), op);
  };
  at::Tensor mine;
  const auto exchange = agree(
      [&] {
        check_tensors(tensors);
        detail::check_written(tensors);
        detail::check_reducible(tensors[0], op);
      },
      [&] { return signature(Operation::kAllReduce, tensors).op(op); },
      [&](int64_t) {
        if (!mine.defined() && is_carried(tensors[0], detail::bytes_of(tensors))) {
          mine = values();
        }
        return mine;
      });
  if (is_silent(tensors[0], detail::elements(tensors))) {
    return;
  }
  Tensors sent = {mine.defined() ? reduced(exchange, mine, op) : values()};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d_op(op);
  if (!mine.defined() && sends(sent[0])) {
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
  at::Tensor mine;
  const auto exchange = agree(
      [&] {
        check_tensor(tensor);
        detail::check_reducible(tensor, op);
        detail::check_rank("root", root, world_size_);
        if (rank_ == root) {
          detail::check_written({tensor});
        }
      },
      [&] { return signature(Operation::kReduce, {tensor}).op(op).root(root); },
      [&](int64_t to) {
        if (!mine.defined() && is_carried(tensor, detail::bytes_of(tensor))) {
          mine = reducible(tensor, op);
        }
        return to == root ? mine : at::Tensor();
      });
  if (is_silent(tensor, tensor.numel())) {
    return;
  }
  Tensors sent;
  if (mine.defined()) {
    sent = {rank_ == root ? reduced(exchange, mine, op) : mine};
  } else {
    // Gloo leaves partial results in the tensors of the other ranks.
    const at::Tensor values = reducible(tensor, op);
    sent = {rank_ == root ? values : values.clone()};
    c10d::ReduceOptions options;
    options.reduceOp = c10d_op(op);
    options.rootRank = root;
    if (sends(values)) {
      await(values, backend_of(values).reduce(sent, options), rooted(Needs::Pattern::kRoot, root));
    }
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
  at::Tensor sent;  // one row for each rank
  const auto rows = [&] {
    Tensors each;
    for (size_t i = 0; i < inputs.size(); ++i) {
      each.push_back(dense(inputs[i]).reshape({world_size_, outputs[i].numel()}));
    }
    return sendable(each.size() == 1 ? each[0] : at::cat(each, 1));
  };
  const auto exchange = agree([&] { check_parts(outputs, inputs, op); },
                              [&] { return signature(Operation::kReduceScatter, outputs).op(op); },
                              [&](int64_t to) {
                                if (!is_carried(inputs[0], detail::bytes_of(outputs))) {
                                  return at::Tensor();
                                }
                                sent = sent.defined() ? sent : rows();
                                return sent.select(0, to);
                              });
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
  at::Tensor result;
  if (sent.defined()) {
    result = reduced(exchange, sent.select(0, rank_), op);
  } else {
    sent = rows();
    at::Tensor received = sent;
    if (sends(sent)) {
      received = at::empty_like(sent);
      exchange_bytes(detail::as_bytes(received), detail::as_bytes(sent), {}, {});
    }
    result = received.select(0, 0).clone();
    for (int64_t other = 1; other < world_size_; ++other) {
      reduce_into(result, received.select(0, other), op);
    }
  }
  if (op == ProcessGroup::kMean) {
    result.div_(world_size_);
  }
  detail::unflatten(result, outputs);
}

void Collectives::check_parts(const Tensors& outputs, const Tensors& inputs, int32_t op) const {
  check_tensors(outputs);
  check_tensors(inputs);
  detail::check_written(outputs);
  detail::check_reducible(inputs[0], op);
  if (inputs.size() != outputs.size() || inputs[0].scalar_type() != outputs[0].scalar_type()) {
    detail::refuse("inputs and outputs must be equally many and of one dtype");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].numel() != world_size_ * outputs[i].numel()) {
      detail::refuse("an input must hold one output for each of " + std::to_string(world_size_) +
                     " ranks, got " + std::to_string(inputs[i].numel()) +
                     " elements for outputs of " + std::to_string(outputs[i].numel()));
    }
  }
}

}  // namespace torchfeed
