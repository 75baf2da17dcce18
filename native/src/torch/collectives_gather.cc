// SPDX-License-Identifier: Apache-2.0
// The operations that move values between ranks without combining them.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "torch/collectives.h"

namespace torchfeed {

using detail::as_bytes;
using detail::CallSignature;
using detail::dense;
using detail::Operation;

namespace {

int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.numel() * static_cast<int64_t>(tensor.element_size());
}

at::Tensor bytes_of_all(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> bytes;
  bytes.reserve(tensors.size());
  for (const auto& tensor : tensors) {
    bytes.push_back(as_bytes(dense(tensor)));
  }
  return bytes.size() == 1 ? bytes[0] : at::cat(bytes);
}

std::vector<int64_t> with_ranks(at::IntArrayRef shape, int64_t world_size) {
  std::vector<int64_t> stacked = shape.vec();
  stacked.insert(stacked.begin(), world_size);
  return stacked;
}

/// Returns a tensor with the shape of the rows, but without any.
at::Tensor no_rows(const at::Tensor& tensor) {
  std::vector<int64_t> shape = tensor.sizes().vec();
  shape[0] = 0;
  return at::empty(shape, tensor.options());
}

void check_rows(const char* name, const at::Tensor& tensor, const std::vector<int64_t>& rows,
                int64_t world_size) {
  if (tensor.dim() == 0) {
    detail::refuse(std::string(name) + " must have at least one dimension, got a scalar");
  }
  const bool is_valid =
      rows.empty() ? tensor.size(0) % world_size == 0
                   : std::accumulate(rows.begin(), rows.end(), int64_t{0}) == tensor.size(0) &&
                         *std::min_element(rows.begin(), rows.end()) >= 0;
  if (!is_valid) {
    detail::refuse("the " + std::to_string(tensor.size(0)) + " rows of the " + name +
                   (rows.empty()
                        ? " cannot be divided among " + std::to_string(world_size) + " ranks"
                        : " must be the sum of its splits, each at least 0"));
  }
}

std::vector<int64_t> row_bytes(const at::Tensor& tensor, const std::vector<int64_t>& rows,
                               int64_t world_size) {
  const auto ranks = static_cast<size_t>(world_size);
  std::vector<int64_t> bytes =
      rows.empty() ? std::vector<int64_t>(ranks, tensor.size(0) / world_size) : rows;
  const int64_t each = tensor.size(0) == 0 ? 0 : bytes_of(tensor) / tensor.size(0);
  std::transform(bytes.begin(), bytes.end(), bytes.begin(), [&](int64_t n) { return n * each; });
  return bytes;
}

}  // namespace

at::Tensor Collectives::gather_sendable(const at::Tensor& sendable) {
  at::Tensor result = at::empty(with_ranks(sendable.sizes(), world_size_), sendable.options());
  if (!sends(sendable)) {
    result.select(0, 0).copy_(sendable);
  } else if (!is_silent(sendable, sendable.numel())) {
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
  agree(
      [&] {
        check_tensor(tensor);
        detail::check_rank("root", root, world_size_);
      },
      [&] { return signature(Operation::kBroadcast, {tensor}).root(root); });
  if (is_silent(tensor, tensor.numel())) {
    return;
  }
  const at::Tensor copy = sendable(tensor);
  Tensors sent = {as_bytes(copy)};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  await(copy, backend_of(copy).broadcast(sent, options), rooted(Needs::Pattern::kTree, root));
  detail::copy_back(tensor, copy);
}

void Collectives::scatter(const at::Tensor& output, const Tensors& inputs, int64_t root) {
  const at::NoGradGuard no_grad;
  agree(
      [&] {
        check_tensor(output);
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
      [&] { return signature(Operation::kScatter, {output}).root(root); });
  if (!sends(output)) {
    output.detach().copy_(inputs[0]);
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
  agree(
      [&] {
        if (tensors.empty()) {
          detail::refuse("at least one tensor is needed, got none");
        }
        for (const auto& tensor : tensors) {
          check_tensor(tensor);
        }
        detail::check_one_device(tensors);
      },
      [&] { return signature(Operation::kAllGather, tensors); });
  if (tensors.size() == 1) {
    return {gather_sendable(sendable(tensors[0])).to(tensors[0].device())};
  }
  const at::Tensor all = gather_sendable(sendable(bytes_of_all(tensors))).to(tensors[0].device());
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
  agree(
      [&] {
        check_tensors({output, input});
        if (output.numel() != world_size_ * input.numel()) {
          detail::refuse("the output must hold the input of each of " +
                         std::to_string(world_size_) + " ranks, got " +
                         std::to_string(output.numel()) + " elements for inputs of " +
                         std::to_string(input.numel()));
        }
      },
      [&] { return signature(Operation::kAllGather, {input}); });
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
  await(copy, backend_of(copy)._allgather_base(received, sent, c10d::AllgatherOptions()));
  detail::copy_back(output, copy);
}

Collectives::Tensors Collectives::gather(const at::Tensor& tensor, int64_t root) {
  const at::NoGradGuard no_grad;
  agree(
      [&] {
        check_tensor(tensor);
        detail::check_rank("root", root, world_size_);
      },
      [&] { return signature(Operation::kGather, {tensor}).root(root); });
  if (!sends(tensor)) {
    return {tensor.detach().clone().unsqueeze(0)};
  }
  const at::Tensor values = sendable(tensor);
  at::Tensor result;
  std::vector<Tensors> outputs;
  if (rank_ == root) {
    result = at::empty(with_ranks(tensor.sizes(), world_size_), values.options());
    outputs.emplace_back();
    for (int64_t rank = 0; rank < world_size_; ++rank) {
      outputs[0].push_back(as_bytes(result.select(0, rank)));
    }
  }
  if (!is_silent(tensor, tensor.numel())) {
    Tensors sent = {as_bytes(values)};
    c10d::GatherOptions options;
    options.rootRank = root;
    await(values, backend_of(values).gather(outputs, sent, options),
          rooted(Needs::Pattern::kRoot, root));
  }
  return rank_ == root ? Tensors{result.to(tensor.device())} : Tensors{};
}

void Collectives::exchange_bytes(const at::Tensor& received, const at::Tensor& sent,
                                 std::vector<int64_t> received_bytes,
                                 std::vector<int64_t> sent_bytes) {
  at::Tensor output = received;
  at::Tensor input = sent;
  await(input, backend_of(input).alltoall_base(output, input, received_bytes, sent_bytes,
                                               c10d::AllToAllOptions()));
}

/// Every rank compares what each sends with what its peer expects, so all ranks refuse together.
void Collectives::agree_on_exchange(const std::vector<int64_t>& received,
                                    const std::vector<int64_t>& sent) {
  const auto ranks = static_cast<size_t>(world_size_);
  at::Tensor mine = at::empty({2 * world_size_}, at::kLong);
  std::copy(sent.begin(), sent.end(), mine.mutable_data_ptr<int64_t>());
  std::copy(received.begin(), received.end(), mine.mutable_data_ptr<int64_t>() + ranks);
  const at::Tensor all = gather_sendable(mine);
  const auto* rows = all.const_data_ptr<int64_t>();
  for (size_t from = 0; from < ranks; ++from) {
    for (size_t to = 0; to < ranks; ++to) {
      const int64_t sends = rows[from * 2 * ranks + to];
      const int64_t expects = rows[to * 2 * ranks + ranks + from];
      if (sends != expects) {
        detail::refuse("rank " + std::to_string(from) + " sends " + std::to_string(sends) +
                       " bytes to rank " + std::to_string(to) + ", which expects " +
                       std::to_string(expects));
      }
    }
  }
}

void Collectives::all_to_all(const Tensors& outputs, const Tensors& inputs) {
  const at::NoGradGuard no_grad;
  agree(
      [&] {
        if (static_cast<int64_t>(inputs.size()) != world_size_ || outputs.size() != inputs.size()) {
          detail::refuse("inputs and outputs must hold one tensor for each of " +
                         std::to_string(world_size_) + " ranks, got " +
                         std::to_string(inputs.size()) + " and " + std::to_string(outputs.size()));
        }
        check_tensors(inputs);
        check_tensors(outputs);
        check_tensors({inputs[0], outputs[0]});
      },
      [&] {
        return signature(
            Operation::kAllToAll,
            {at::empty({0}, outputs[0].options())});  // sizes may differ, dtypes may not
      });
  std::vector<int64_t> received_bytes;
  std::vector<int64_t> sent_bytes;
  std::transform(outputs.begin(), outputs.end(), std::back_inserter(received_bytes), bytes_of);
  std::transform(inputs.begin(), inputs.end(), std::back_inserter(sent_bytes), bytes_of);
  if (!sends(inputs[0]) || is_checked()) {
    agree_on_exchange(received_bytes, sent_bytes);
  }
  const auto total = std::accumulate(received_bytes.begin(), received_bytes.end(), int64_t{0});
  const at::Tensor sent = sendable(bytes_of_all(inputs));
  at::Tensor received = sent;
  if (sends(sent)) {
    received = at::empty({total}, sent.options());
    exchange_bytes(received, sent, received_bytes, std::move(sent_bytes));
  }
  int64_t start = 0;
  for (size_t rank = 0; rank < outputs.size(); ++rank) {
    const at::Tensor copy = dense(outputs[rank]);
    as_bytes(copy).copy_(received.narrow(0, start, received_bytes[rank]));
    detail::copy_back(outputs[rank], copy);
    start += received_bytes[rank];
  }
}

void Collectives::all_to_all_single(const at::Tensor& output, const at::Tensor& input,
                                    const std::vector<int64_t>& output_rows,
                                    const std::vector<int64_t>& input_rows) {
  const at::NoGradGuard no_grad;
  agree(
      [&] {
        check_tensors({output, input});
        check_rows("output", output, output_rows, world_size_);
        check_rows("input", input, input_rows, world_size_);
        if (output.sizes().slice(1) != input.sizes().slice(1)) {
          detail::refuse("rows of input and output must have one shape");
        }
      },
      [&] { return signature(Operation::kAllToAll, {no_rows(output)}); });
  std::vector<int64_t> received_bytes = row_bytes(output, output_rows, world_size_);
  std::vector<int64_t> sent_bytes = row_bytes(input, input_rows, world_size_);
  if (!sends(input) || is_checked()) {
    agree_on_exchange(received_bytes, sent_bytes);
  }
  if (!sends(input)) {
    output.detach().copy_(input);
    return;
  }
  const at::Tensor copy = sendable(output);
  exchange_bytes(as_bytes(copy), as_bytes(sendable(input)), std::move(received_bytes),
                 std::move(sent_bytes));
  detail::copy_back(output, copy);
}

Collectives::Tensors Collectives::all_gather_bytes(const at::Tensor& bytes) {
  agree([] {}, [] { return CallSignature(Operation::kExchangeBytes); });
  const at::Tensor lengths = gather_sendable(at::full({1}, bytes.numel(), at::kLong));
  const int64_t longest = lengths.max().item<int64_t>();
  at::Tensor padded = at::zeros({longest}, at::kByte);
  padded.narrow(0, 0, bytes.numel()).copy_(bytes);
  const at::Tensor all = gather_sendable(padded);
  Tensors results;
  for (int64_t rank = 0; rank < world_size_; ++rank) {
    results.push_back(all.select(0, rank).narrow(0, 0, lengths[rank].item<int64_t>()));
  }
  return results;
}

at::Tensor Collectives::broadcast_bytes(const at::Tensor& bytes, int64_t root) {
  agree([&] { detail::check_rank("root", root, world_size_); },
        [&] { return CallSignature(Operation::kExchangeBytes).root(root); });
  if (!backends_.host) {
    return bytes;
  }
  c10d::BroadcastOptions options;
  options.rootRank = root;
  Tensors length = {at::full({1}, bytes.numel(), at::kLong)};
  in_flight_.await(backends_.host->broadcast(length, options), rooted(Needs::Pattern::kTree, root));
  const int64_t size = length[0].item<int64_t>();
  Tensors sent = {rank_ == root ? bytes : at::empty({size}, at::kByte)};
  if (size > 0) {
    in_flight_.await(backends_.host->broadcast(sent, options), rooted(Needs::Pattern::kTree, root));
  }
  return sent[0];
}

}  // namespace torchfeed
