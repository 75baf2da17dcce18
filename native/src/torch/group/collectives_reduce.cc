// SPDX-License-Identifier: Apache-2.0
// The operations that combine the values of ranks.
#include <utility>

#include "torch/group/collectives.h"
#include "torch/group/process_group_impl.h"

namespace torchfeed {

using detail::CallExchange;
using detail::CallSignature;
using detail::dense;

namespace collectives {
namespace {

using Tensors = std::vector<at::Tensor>;

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

at::Tensor reducible(const RankCall& call, const at::Tensor& tensor, int32_t op) {
  // NCCL has no bitwise reductions.
  return op >= ProcessGroup::kBand ? call.sendable(tensor).cpu() : call.sendable(tensor);
}

at::Tensor reduced(const RankCall& call, const CallExchange& exchange, const at::Tensor& like,
                   int32_t op) {
  at::Tensor result = exchange.values(0, like);
  for (int64_t other = 1; other < call.size(); ++other) {
    reduce_into(result, exchange.values(other, like), op);
  }
  return result;
}

void check_parts(const RankCall& call, const Tensors& outputs, const Tensors& inputs, int32_t op) {
  call.check_tensors(outputs);
  call.check_tensors(inputs);
  detail::check_written(outputs);
  detail::check_reducible(inputs[0], op);
  if (inputs.size() != outputs.size() || inputs[0].scalar_type() != outputs[0].scalar_type()) {
    detail::refuse("inputs and outputs must be equally many and of one dtype");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].numel() != call.size() * outputs[i].numel()) {
      detail::refuse("an input must hold one output for each of " + std::to_string(call.size()) +
                     " ranks, got " + std::to_string(inputs[i].numel()) +
                     " elements for outputs of " + std::to_string(outputs[i].numel()));
    }
  }
}

// Python's takes twice the traffic: Gloo performs an all-reduce and drops the rest.
void reduce_scatter(const RankCall& call, const Tensors& outputs, const Tensors& inputs,
                    int32_t op) {
  const at::NoGradGuard no_grad;
  at::Tensor sent;  // one row for each rank
  const auto rows = [&] {
    Tensors each;
    for (size_t i = 0; i < inputs.size(); ++i) {
      each.push_back(dense(inputs[i]).reshape({call.size(), outputs[i].numel()}));
    }
    return call.sendable(each.size() == 1 ? each[0] : at::cat(each, 1));
  };
  const auto exchange = call.agree([&] { check_parts(call, outputs, inputs, op); },
                                   [&] { return call.signature("reduce-scatter", outputs).op(op); },
                                   [&](int64_t to) {
                                     if (!call.is_carried(inputs[0], detail::bytes_of(outputs))) {
                                       return at::Tensor();
                                     }
                                     sent = sent.defined() ? sent : rows();
                                     return sent.select(0, to);
                                   });
  if (call.sends(inputs[0]) && call.is_python()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const at::Tensor all = dense(inputs[i]).clone();
      all_reduce(call, {all}, op);
      const at::Tensor mine = all.reshape({call.size(), outputs[i].numel()}).select(0, call.rank());
      detail::unflatten(mine, {outputs[i]});
    }
    return;
  }
  if (detail::elements(outputs) == 0) {
    return;
  }
  at::Tensor result;
  if (sent.defined()) {
    result = reduced(call, exchange, sent.select(0, call.rank()), op);
  } else {
    sent = rows();
    at::Tensor received = sent;
    if (call.sends(sent)) {
      received = at::empty_like(sent);
      call.exchange_bytes(detail::as_bytes(received), detail::as_bytes(sent), {}, {});
    }
    result = received.select(0, 0).clone();
    for (int64_t other = 1; other < call.size(); ++other) {
      reduce_into(result, received.select(0, other), op);
    }
  }
  if (op == ProcessGroup::kMean) {
    result.div_(call.size());
  }
  detail::unflatten(result, outputs);
}

}  // namespace

void barrier(const RankCall& call, std::chrono::milliseconds limit) {
  const auto exchange = call.agree([] {}, [] { return CallSignature("barrier"); }, {}, limit);
  if (call.host() && exchange.is_empty()) {
    c10d::BarrierOptions options;
    if (limit.count() > 0) {
      options.timeout = limit + detail::kBeyondTimeout;
    }
    call.in_flight().await(call.host()->barrier(options), {}, limit);
  }
}

void all_reduce(const RankCall& call, const Tensors& tensors, int32_t op) {
  const at::NoGradGuard no_grad;
  const bool is_single = tensors.size() == 1;
  const auto values = [&] {
    return reducible(call, is_single ? tensors[0] : detail::flattened(tensors), op);
  };
  at::Tensor mine;
  const auto exchange = call.agree(
      [&] {
        call.check_tensors(tensors);
        detail::check_written(tensors);
        detail::check_reducible(tensors[0], op);
      },
      [&] { return call.signature("all-reduce", tensors).op(op); },
      [&](int64_t) {
        if (!mine.defined() && call.is_carried(tensors[0], detail::bytes_of(tensors))) {
          mine = values();
        }
        return mine;
      });
  if (call.is_silent(tensors[0], detail::elements(tensors))) {
    return;
  }
  Tensors sent = {mine.defined() ? reduced(call, exchange, mine, op) : values()};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d_op(op);
  if (!mine.defined() && call.sends(sent[0])) {
    call.await(sent[0], [&](c10d::Backend& backend) { return backend.allreduce(sent, options); });
  }
  if (op == ProcessGroup::kMean) {
    sent[0].div_(call.size());
  }
  if (is_single) {
    detail::copy_back(tensors[0], sent[0]);
  } else {
    detail::unflatten(sent[0], tensors);
  }
}

void reduce(const RankCall& call, const at::Tensor& tensor, int32_t op, int64_t root) {
  const at::NoGradGuard no_grad;
  at::Tensor mine;
  const auto exchange = call.agree(
      [&] {
        call.check_tensor(tensor);
        detail::check_reducible(tensor, op);
        detail::check_rank("root", root, call.size());
        if (call.rank() == root) {
          detail::check_written({tensor});
        }
      },
      [&] { return call.signature("reduce", {tensor}).op(op).to(root); },
      [&](int64_t to) {
        if (!mine.defined() && call.is_carried(tensor, detail::bytes_of(tensor))) {
          mine = reducible(call, tensor, op);
        }
        return to == root ? mine : at::Tensor();
      });
  if (call.is_silent(tensor, tensor.numel())) {
    return;
  }
  Tensors sent;
  if (mine.defined()) {
    sent = {call.rank() == root ? reduced(call, exchange, mine, op) : mine};
  } else {
    // Gloo leaves partial results in the tensors of the other ranks.
    const at::Tensor values = reducible(call, tensor, op);
    sent = {call.rank() == root ? values : values.clone()};
    c10d::ReduceOptions options;
    options.reduceOp = c10d_op(op);
    options.rootRank = root;
    if (call.sends(values)) {
      call.await(
          values, [&](c10d::Backend& backend) { return backend.reduce(sent, options); },
          call.rooted(Needs::Pattern::kRoot, root));
    }
  }
  if (call.rank() == root) {
    if (op == ProcessGroup::kMean) {
      sent[0].div_(call.size());
    }
    detail::copy_back(tensor, sent[0]);
  }
}

}  // namespace collectives

std::unique_ptr<Work> ProcessGroup::barrier(int32_t mode, int64_t milliseconds) {
  return impl_->collective(mode, [=](const RankCall& call) {
    collectives::barrier(call, std::chrono::milliseconds(milliseconds));
  });
}

std::unique_ptr<Work> ProcessGroup::all_reduce(const torch::Tensor& tensor, int32_t op,
                                               int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { collectives::all_reduce(call, {tensor}, op); });
}

std::unique_ptr<Work> ProcessGroup::all_reduce_coalesced(const std::vector<torch::Tensor>& tensors,
                                                         int32_t op, int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { collectives::all_reduce(call, tensors, op); });
}

std::unique_ptr<Work> ProcessGroup::reduce(const torch::Tensor& tensor, int32_t op, int64_t root,
                                           int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { collectives::reduce(call, tensor, op, root); });
}

std::unique_ptr<Work> ProcessGroup::reduce_scatter(const torch::Tensor& output,
                                                   const torch::Tensor& input, int32_t op,
                                                   int32_t mode) {
  return impl_->collective(mode, [=](const RankCall& call) {
    collectives::reduce_scatter(call, {output}, {input}, op);
  });
}

std::unique_ptr<Work> ProcessGroup::reduce_scatter_coalesced(
    const std::vector<torch::Tensor>& outputs, const std::vector<torch::Tensor>& inputs, int32_t op,
    int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { collectives::reduce_scatter(call, outputs, inputs, op); });
}

}  // namespace torchfeed
