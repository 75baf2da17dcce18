// SPDX-License-Identifier: Apache-2.0
// The operations that move values between ranks without combining them.
#include <utility>

#include "torch/group/collectives.h"
#include "torch/group/process_group_impl.h"

namespace torchfeed {

using detail::as_bytes;
using detail::bytes_of;
using detail::bytes_of_all;
using detail::with_ranks;

namespace collectives {
namespace {

using Tensors = std::vector<at::Tensor>;

void scatter(const RankCall& call, const at::Tensor& output, const Tensors& inputs, int64_t root) {
  const at::NoGradGuard no_grad;
  const auto exchange = call.agree(
      [&] {
        call.check_tensor(output);
        detail::check_written({output});
        detail::check_rank("root", root, call.size());
        const auto needed = call.rank() == root ? static_cast<size_t>(call.size()) : 0;
        if (inputs.size() != needed) {
          detail::refuse("rank " + std::to_string(call.rank()) + " must pass " +
                         std::to_string(needed) + " inputs to a scatter from rank " +
                         std::to_string(root) + ", got " + std::to_string(inputs.size()));
        }
        for (const auto& input : inputs) {
          call.check_tensors({output, input});
          if (input.sizes() != output.sizes()) {
            detail::refuse("each input must have the shape of the output");
          }
        }
      },
      [&] { return call.signature("scatter", {output}).from(root); },
      [&](int64_t to) {
        return call.rank() == root && call.is_carried(output, bytes_of(output))
                   ? call.sendable(inputs[static_cast<size_t>(to)])
                   : at::Tensor();
      });
  if (!call.sends(output)) {
    output.detach().copy_(inputs[0]);
  } else if (call.is_carried(output, bytes_of(output))) {
    output.detach().copy_(exchange.values(root, output));
  } else if (!call.is_silent(output, output.numel())) {
    const at::Tensor copy = call.sendable(output);
    Tensors outputs = {as_bytes(copy)};
    std::vector<Tensors> sent;
    if (call.rank() == root) {
      sent.emplace_back();
      for (const auto& input : inputs) {
        sent[0].push_back(as_bytes(call.sendable(input)));
      }
    }
    if (call.passes_messages(copy)) {
      call.pass_parts(outputs[0], sent.empty() ? Tensors() : sent[0], root);
    } else {
      c10d::ScatterOptions options;
      options.rootRank = root;
      call.await(
          copy, [&](c10d::Backend& backend) { return backend.scatter(outputs, sent, options); },
          call.rooted(Needs::Pattern::kRoot, root));
    }
    detail::copy_back(output, copy);
  }
}

Tensors all_gather(const RankCall& call, const Tensors& tensors) {
  const at::NoGradGuard no_grad;
  const auto values = [&] {
    return call.sendable(tensors.size() == 1 ? tensors[0] : bytes_of_all(tensors));
  };
  at::Tensor mine;
  const auto exchange = call.agree(
      [&] {
        if (tensors.empty()) {
          detail::refuse("at least one tensor is needed, got none");
        }
        for (const auto& tensor : tensors) {
          call.check_tensor(tensor);
        }
        detail::check_one_device(tensors);
      },
      [&] { return call.signature("all-gather", tensors); },
      [&](int64_t) {
        if (!mine.defined() && call.is_carried(tensors[0], bytes_of(tensors))) {
          mine = values();
        }
        return mine;
      });
  const at::Tensor all =
      (mine.defined() ? call.gathered(exchange, mine) : call.gather_sendable(values()))
          .to(tensors[0].device());
  if (tensors.size() == 1) {
    return {all};
  }
  Tensors results;
  int64_t start = 0;
  for (const auto& tensor : tensors) {
    at::Tensor result =
        at::empty(with_ranks(tensor.sizes(), call.size()), tensor.options().requires_grad(false));
    const int64_t bytes = bytes_of(tensor);
    as_bytes(result).view({call.size(), bytes}).copy_(all.narrow(1, start, bytes));
    results.push_back(std::move(result));
    start += bytes;
  }
  return results;
}

Tensors gather(const RankCall& call, const at::Tensor& tensor, int64_t root) {
  const at::NoGradGuard no_grad;
  const auto exchange = call.agree(
      [&] {
        call.check_tensor(tensor);
        detail::check_rank("root", root, call.size());
      },
      [&] { return call.signature("gather", {tensor}).to(root); },
      [&](int64_t to) {
        return to == root && call.is_carried(tensor, bytes_of(tensor)) ? call.sendable(tensor)
                                                                       : at::Tensor();
      });
  if (call.is_carried(tensor, bytes_of(tensor))) {
    return call.rank() == root
               ? Tensors{call.gathered(exchange, call.sendable(tensor)).to(tensor.device())}
               : Tensors{};
  }
  if (!call.sends(tensor)) {
    return {tensor.detach().clone().unsqueeze(0)};
  }
  const at::Tensor values = call.sendable(tensor);
  at::Tensor result;
  at::Tensor rows;
  if (call.rank() == root) {
    result = at::empty(with_ranks(tensor.sizes(), call.size()), values.options());
    rows = as_bytes(result).view({call.size(), bytes_of(values)});
  }
  if (call.is_silent(tensor, tensor.numel())) {
    return call.rank() == root ? Tensors{result.to(tensor.device())} : Tensors{};
  }
  Tensors sent = {as_bytes(values)};
  if (call.passes_messages(values)) {
    call.pass_row(sent[0], {root}, rows);
  } else {
    std::vector<Tensors> outputs;
    if (call.rank() == root) {
      outputs.push_back(rows.unbind(0));
    }
    c10d::GatherOptions options;
    options.rootRank = root;
    call.await(
        values, [&](c10d::Backend& backend) { return backend.gather(outputs, sent, options); },
        call.rooted(Needs::Pattern::kRoot, root));
  }
  return call.rank() == root ? Tensors{result.to(tensor.device())} : Tensors{};
}

}  // namespace

void broadcast(const RankCall& call, const at::Tensor& tensor, int64_t root) {
  const at::NoGradGuard no_grad;
  const auto exchange = call.agree(
      [&] {
        call.check_tensor(tensor);
        detail::check_rank("root", root, call.size());
        if (call.rank() != root) {
          detail::check_written({tensor});
        }
      },
      [&] { return call.signature("broadcast", {tensor}).from(root); },
      [&](int64_t) {
        return call.rank() == root && call.is_carried(tensor, bytes_of(tensor))
                   ? call.sendable(tensor)
                   : at::Tensor();
      });
  if (call.is_silent(tensor, tensor.numel())) {
    return;
  }
  if (call.is_carried(tensor, bytes_of(tensor))) {
    if (call.rank() != root) {
      tensor.detach().copy_(exchange.values(root, tensor));
    }
    return;
  }
  const at::Tensor copy = call.sendable(tensor);
  call.pass_down(copy, root);
  if (call.rank() != root) {
    detail::copy_back(tensor, copy);
  }
}

void all_gather_into(const RankCall& call, const at::Tensor& output, const at::Tensor& input) {
  const at::NoGradGuard no_grad;
  at::Tensor mine;
  const auto exchange = call.agree(
      [&] {
        call.check_tensors({output, input});
        detail::check_written({output});
        if (output.numel() != call.size() * input.numel()) {
          detail::refuse("the output must hold the input of each of " +
                         std::to_string(call.size()) + " ranks, got " +
                         std::to_string(output.numel()) + " elements for inputs of " +
                         std::to_string(input.numel()));
        }
      },
      [&] { return call.signature("all-gather", {input}); },
      [&](int64_t) {
        if (!mine.defined() && call.is_carried(input, bytes_of(input))) {
          mine = call.sendable(input);
        }
        return mine;
      });
  if (mine.defined()) {
    output.detach().copy_(call.gathered(exchange, mine).reshape(output.sizes()));
    return;
  }
  if (!call.sends(input)) {
    output.detach().copy_(input.reshape(output.sizes()));
    return;
  }
  if (call.is_silent(input, input.numel())) {
    return;
  }
  const at::Tensor copy = call.sendable(output);
  at::Tensor received = as_bytes(copy);
  at::Tensor sent = as_bytes(call.sendable(input));
  if (call.passes_messages(copy)) {
    call.pass_row_to_all(sent, received.view({call.size(), sent.numel()}));
  } else {
    call.await(copy, [&](c10d::Backend& backend) {
      return backend._allgather_base(received, sent, c10d::AllgatherOptions());
    });
  }
  detail::copy_back(output, copy);
}

}  // namespace collectives

std::unique_ptr<Work> ProcessGroup::broadcast(const torch::Tensor& tensor, int64_t root,
                                              int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { collectives::broadcast(call, tensor, root); });
}

std::unique_ptr<Work> ProcessGroup::scatter(const torch::Tensor& output,
                                            const std::vector<torch::Tensor>& inputs, int64_t root,
                                            int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { collectives::scatter(call, output, inputs, root); });
}

std::unique_ptr<Work> ProcessGroup::all_gather(const torch::Tensor& tensor, int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { return collectives::all_gather(call, {tensor}); });
}

std::unique_ptr<Work> ProcessGroup::all_gather_coalesced(const std::vector<torch::Tensor>& tensors,
                                                         int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { return collectives::all_gather(call, tensors); });
}

std::unique_ptr<Work> ProcessGroup::all_gather_into(const torch::Tensor& output,
                                                    const torch::Tensor& input, int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { collectives::all_gather_into(call, output, input); });
}

std::unique_ptr<Work> ProcessGroup::gather(const torch::Tensor& tensor, int64_t root,
                                           int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { return collectives::gather(call, tensor, root); });
}

}  // namespace torchfeed
