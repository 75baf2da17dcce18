// SPDX-License-Identifier: Apache-2.0
// The operations that move values between ranks without combining them.
#include <numeric>
#include <utility>

#include "torch/group/collectives.h"
#include "torch/group/peer_messages.h"

namespace torchfeed {

using detail::as_bytes;
using detail::bytes_of;
using detail::bytes_of_all;
using detail::CallExchange;
using detail::CallSignature;
using detail::dense;
using detail::MessageKind;
using detail::Operation;
using detail::PeerMessages;

namespace {

std::vector<int64_t> with_ranks(at::IntArrayRef shape, int64_t world_size) {
  std::vector<int64_t> stacked = shape.vec();
  stacked.insert(stacked.begin(), world_size);
  return stacked;
}

}  // namespace

at::Tensor Collectives::gathered(const CallExchange& exchange, const at::Tensor& like) const {
  at::Tensor result = at::empty(with_ranks(like.sizes(), world_size_), like.options());
  for (int64_t rank = 0; rank < world_size_; ++rank) {
    result.select(0, rank).copy_(exchange.values(rank, like));
  }
  return result;
}

bool Collectives::passes_rows(const at::Tensor& sendable) const {
  return protocol_ != Protocol::kPython && !is_between_devices(sendable);
}

// `ProcessGroupGloo` would gather into a tensor of its own, which it frees before Gloo has let go
// of it: if a rank is lost, the others' rows are written into memory that is no longer there.
void Collectives::pass_row(const at::Tensor& row, const std::vector<int64_t>& receivers,
                           const at::Tensor& rows) {
  PeerMessages messages(*backends_.host, in_flight_, MessageKind::kRows);
  for (int64_t from = 0; rows.defined() && from < world_size_; ++from) {
    if (from == rank_) {
      rows.select(0, from).copy_(row);
    } else {
      messages.receive(from, rows.select(0, from));
    }
  }
  for (const int64_t to : receivers) {
    if (to != rank_) {
      messages.send(to, row);
    }
  }
  messages.await();
}

void Collectives::pass_row_to_all(const at::Tensor& row, const at::Tensor& rows) {
  std::vector<int64_t> receivers(static_cast<size_t>(world_size_));
  std::iota(receivers.begin(), receivers.end(), int64_t{0});
  pass_row(row, receivers, rows);
}

at::Tensor Collectives::gather_sendable(const at::Tensor& sendable) {
  at::Tensor result = at::empty(with_ranks(sendable.sizes(), world_size_), sendable.options());
  if (!sends(sendable)) {
    result.select(0, 0).copy_(sendable);
  } else if (is_silent(sendable, sendable.numel())) {
    return result;
  } else if (passes_rows(sendable)) {
    pass_row_to_all(as_bytes(sendable), as_bytes(result).view({world_size_, bytes_of(sendable)}));
  } else {
    std::vector<Tensors> outputs(1);
    for (int64_t rank = 0; rank < world_size_; ++rank) {
      outputs[0].push_back(as_bytes(result.select(0, rank)));
    }
    Tensors inputs = {as_bytes(sendable)};
    await(sendable, backend_of(sendable).allgather(outputs, inputs, c10d::AllgatherOptions()));
  }
  return result;
}

void Collectives::broadcast(const at::Tensor& tensor, int64_t root) {
  const at::NoGradGuard no_grad;
  const auto exchange = agree(
      [&] {
        check_tensor(tensor);
        detail::check_rank("root", root, world_size_);
        if (rank_ != root) {
          detail::check_written({tensor});
        }
      },
      [&] { return signature(Operation::kBroadcast, {tensor}).root(root); },
      [&](int64_t) {
        return rank_ == root && is_carried(tensor, bytes_of(tensor)) ? sendable(tensor)
                                                                     : at::Tensor();
      });
  if (is_silent(tensor, tensor.numel())) {
    return;
  }
  if (is_carried(tensor, bytes_of(tensor))) {
    if (rank_ != root) {
      tensor.detach().copy_(exchange.values(root, tensor));
    }
    return;
  }
  const at::Tensor copy = sendable(tensor);
  Tensors sent = {as_bytes(copy)};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  await(copy, backend_of(copy).broadcast(sent, options), rooted(Needs::Pattern::kTree, root));
  if (rank_ != root) {
    detail::copy_back(tensor, copy);
  }
}

void Collectives::scatter(const at::Tensor& output, const Tensors& inputs, int64_t root) {
  const at::NoGradGuard no_grad;
  const auto exchange = agree(
      [&] {
        check_tensor(output);
        detail::check_written({output});
        detail::check_rank("root", root, world_size_);
        const auto needed = rank_ == root ? static_cast<size_t>(world_size_) : 0;
        if (inputs.size() != needed) {
          detail::refuse("rank " + std::to_string(rank_) + " must pass " + std::to_string(needed) +
                         " inputs to a scatter from rank " + std::to_string(root) + ", got " +
                         std::to_string(inputs.size()));
        }
        for (const auto& input : inputs) {
          check_tensors({output, input});
          if (input.sizes() != output.sizes()) {
            detail::refuse("each input must have the shape of the output");
          }
        }
      },
      [&] { return signature(Operation::kScatter, {output}).root(root); },
      [&](int64_t to) {
        return rank_ == root && is_carried(output, bytes_of(output))
                   ? sendable(inputs[static_cast<size_t>(to)])
                   : at::Tensor();
      });
  if (!sends(output)) {
    output.detach().copy_(inputs[0]);
  } else if (is_carried(output, bytes_of(output))) {
    output.detach().copy_(exchange.values(root, output));
  } else if (!is_silent(output, output.numel())) {
    const at::Tensor copy = sendable(output);
    Tensors outputs = {as_bytes(copy)};
    std::vector<Tensors> sent;
    if (rank_ == root) {
      sent.emplace_back();
      for (const auto& input : inputs) {
        sent[0].push_back(as_bytes(sendable(input)));
      }
    }
    c10d::ScatterOptions options;
    options.rootRank = root;
    await(copy, backend_of(copy).scatter(outputs, sent, options),
          rooted(Needs::Pattern::kRoot, root));
    detail::copy_back(output, copy);
  }
}

Collectives::Tensors Collectives::all_gather(const Tensors& tensors) {
  const at::NoGradGuard no_grad;
  const auto values = [&] {
    return sendable(tensors.size() == 1 ? tensors[0] : bytes_of_all(tensors));
  };
  at::Tensor mine;
  const auto exchange = agree(
      [&] {
        if (tensors.empty()) {
          detail::refuse("at least one tensor is needed, got none");
        }
        for (const auto& tensor : tensors) {
          check_tensor(tensor);
        }
        detail::check_one_device(tensors);
      },
      [&] { return signature(Operation::kAllGather, tensors); },
      [&](int64_t) {
        if (!mine.defined() && is_carried(tensors[0], bytes_of(tensors))) {
          mine = values();
        }
        return mine;
      });
  const at::Tensor all = (mine.defined() ? gathered(exchange, mine) : gather_sendable(values()))
                             .to(tensors[0].device());
  if (tensors.size() == 1) {
    return {all};
  }
  Tensors results;
  int64_t start = 0;
  for (const auto& tensor : tensors) {
    at::Tensor result =
        at::empty(with_ranks(tensor.sizes(), world_size_), tensor.options().requires_grad(false));
    const int64_t bytes = bytes_of(tensor);
    as_bytes(result).view({world_size_, bytes}).copy_(all.narrow(1, start, bytes));
    results.push_back(std::move(result));
    start += bytes;
  }
  return results;
}

void Collectives::all_gather_into(const at::Tensor& output, const at::Tensor& input) {
  const at::NoGradGuard no_grad;
  at::Tensor mine;
  const auto exchange = agree(
      [&] {
        check_tensors({output, input});
        detail::check_written({output});
        if (output.numel() != world_size_ * input.numel()) {
          detail::refuse("the output must hold the input of each of " +
                         std::to_string(world_size_) + " ranks, got " +
                         std::to_string(output.numel()) + " elements for inputs of " +
                         std::to_string(input.numel()));
        }
      },
      [&] { return signature(Operation::kAllGather, {input}); },
      [&](int64_t) {
        if (!mine.defined() && is_carried(input, bytes_of(input))) {
          mine = sendable(input);
        }
        return mine;
      });
  if (mine.defined()) {
    output.detach().copy_(gathered(exchange, mine).reshape(output.sizes()));
    return;
  }
  if (!sends(input)) {
    output.detach().copy_(input.reshape(output.sizes()));
    return;
  }
  if (is_silent(input, input.numel())) {
    return;
  }
  const at::Tensor copy = sendable(output);
  at::Tensor received = as_bytes(copy);
  at::Tensor sent = as_bytes(sendable(input));
  if (passes_rows(copy)) {
    pass_row_to_all(sent, received.view({world_size_, sent.numel()}));
  } else {
    await(copy, backend_of(copy)._allgather_base(received, sent, c10d::AllgatherOptions()));
  }
  detail::copy_back(output, copy);
}

Collectives::Tensors Collectives::gather(const at::Tensor& tensor, int64_t root) {
  const at::NoGradGuard no_grad;
  const auto exchange = agree(
      [&] {
        check_tensor(tensor);
        detail::check_rank("root", root, world_size_);
      },
      [&] { return signature(Operation::kGather, {tensor}).root(root); },
      [&](int64_t to) {
        return to == root && is_carried(tensor, bytes_of(tensor)) ? sendable(tensor) : at::Tensor();
      });
  if (is_carried(tensor, bytes_of(tensor))) {
    return rank_ == root ? Tensors{gathered(exchange, sendable(tensor)).to(tensor.device())}
                         : Tensors{};
  }
  if (!sends(tensor)) {
    return {tensor.detach().clone().unsqueeze(0)};
  }
  const at::Tensor values = sendable(tensor);
  at::Tensor result;
  at::Tensor rows;
  if (rank_ == root) {
    result = at::empty(with_ranks(tensor.sizes(), world_size_), values.options());
    rows = as_bytes(result).view({world_size_, bytes_of(values)});
  }
  if (is_silent(tensor, tensor.numel())) {
    return rank_ == root ? Tensors{result.to(tensor.device())} : Tensors{};
  }
  Tensors sent = {as_bytes(values)};
  if (passes_rows(values)) {
    pass_row(sent[0], {root}, rows);
  } else {
    std::vector<Tensors> outputs;
    if (rank_ == root) {
      outputs.push_back(rows.unbind(0));
    }
    c10d::GatherOptions options;
    options.rootRank = root;
    await(values, backend_of(values).gather(outputs, sent, options),
          rooted(Needs::Pattern::kRoot, root));
  }
  return rank_ == root ? Tensors{result.to(tensor.device())} : Tensors{};
}

}  // namespace torchfeed
