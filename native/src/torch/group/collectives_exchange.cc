// SPDX-License-Identifier: Apache-2.0
// The operations in which the ranks send each other different numbers of bytes.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "torch/group/collectives.h"
#include "torch/group/process_group_impl.h"

namespace torchfeed {

using detail::as_bytes;
using detail::bytes_of;
using detail::bytes_of_all;
using detail::CallExchange;
using detail::CallSignature;
using detail::dense;

namespace collectives {
namespace {

using Tensors = std::vector<at::Tensor>;

struct ByteCounts {
  std::vector<int64_t> received;  // from each rank
  std::vector<int64_t> sent;      // to each rank
};

constexpr int64_t kLengthBytes = sizeof(int64_t);
/// The most bytes that travel with their number.
constexpr int64_t kMaxLength = CallExchange::kMaxBytes - kLengthBytes;

std::vector<int64_t> bytes_of_each(const std::vector<at::Tensor>& tensors) {
  std::vector<int64_t> bytes;
  for (const auto& tensor : tensors) {
    bytes.push_back(bytes_of(tensor));
  }
  return bytes;
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

/// Returns the number of bytes and, if they fit, the bytes.
at::Tensor with_length(const at::Tensor& bytes) {
  const int64_t length = bytes.numel();
  const int64_t carried = length <= kMaxLength ? length : 0;
  at::Tensor message = at::empty({kLengthBytes + carried}, at::kByte);
  auto* first = message.mutable_data_ptr<uint8_t>();
  std::memcpy(first, &length, sizeof(length));
  if (carried > 0) {
    std::memcpy(first + kLengthBytes, bytes.const_data_ptr(), static_cast<size_t>(carried));
  }
  return message;
}

int64_t length_from(const CallExchange& exchange, int64_t rank) {
  int64_t length = 0;
  std::memcpy(&length, exchange.bytes(rank, 0, kLengthBytes).const_data_ptr(), sizeof(length));
  return length;
}

/// Every rank compares all numbers of bytes sent with the peers' expectations, so all ranks refuse
/// together.
void agree_on_exchange(const RankCall& call, const RankCall::Check& check,
                       const RankCall::Describe& describe,
                       const std::function<ByteCounts()>& counts) {
  const auto ranks = static_cast<size_t>(call.size());
  at::Tensor mine;
  const auto table = [&] {
    if (!mine.defined()) {
      const auto [received, sent] = counts();
      mine = at::empty({2 * call.size()}, at::kLong);
      std::copy(sent.begin(), sent.end(), mine.mutable_data_ptr<int64_t>());
      std::copy(received.begin(), received.end(), mine.mutable_data_ptr<int64_t>() + ranks);
    }
    return mine;
  };
  const bool is_small = 2 * call.size() * int64_t{sizeof(int64_t)} <= CallExchange::kMaxBytes;
  const auto exchange = call.agree(
      check, describe,
      is_small ? RankCall::Values([&](int64_t) { return table(); }) : RankCall::Values());
  if (call.host() && !call.is_checked()) {
    return;
  }
  const at::Tensor all = exchange.is_empty() || !is_small ? call.gather_sendable(table())
                                                          : call.gathered(exchange, mine);
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

void all_to_all(const RankCall& call, const Tensors& outputs, const Tensors& inputs) {
  const at::NoGradGuard no_grad;
  const auto counts = [&] {
    return ByteCounts{.received = bytes_of_each(outputs), .sent = bytes_of_each(inputs)};
  };
  agree_on_exchange(
      call,
      [&] {
        if (static_cast<int64_t>(inputs.size()) != call.size() || outputs.size() != inputs.size()) {
          detail::refuse("inputs and outputs must hold one tensor for each of " +
                         std::to_string(call.size()) + " ranks, got " +
                         std::to_string(inputs.size()) + " and " + std::to_string(outputs.size()));
        }
        call.check_tensors(inputs);
        call.check_tensors(outputs);
        detail::check_written(outputs);
        call.check_tensors({inputs[0], outputs[0]});
      },
      [&] {
        return call.signature(
            "all-to-all",
            {at::empty({0}, outputs[0].options())});  // sizes may differ, dtypes may not
      },
      counts);
  const ByteCounts bytes = counts();
  const auto total = std::accumulate(bytes.received.begin(), bytes.received.end(), int64_t{0});
  const at::Tensor sent = call.sendable(bytes_of_all(inputs));
  at::Tensor received = sent;
  if (call.sends(sent)) {
    received = at::empty({total}, sent.options());
    call.exchange_bytes(received, sent, bytes.received, bytes.sent);
  }
  int64_t start = 0;
  for (size_t rank = 0; rank < outputs.size(); ++rank) {
    const at::Tensor copy = dense(outputs[rank]);
    as_bytes(copy).copy_(received.narrow(0, start, bytes.received[rank]));
    detail::copy_back(outputs[rank], copy);
    start += bytes.received[rank];
  }
}

at::Tensor broadcast_bytes(const RankCall& call, const at::Tensor& bytes, int64_t root) {
  const at::Tensor mine = call.rank() == root ? with_length(bytes) : at::Tensor();
  const auto exchange = call.agree([&] { detail::check_rank("root", root, call.size()); },
                                   [&] { return CallSignature("broadcast of bytes").from(root); },
                                   [&](int64_t) { return mine; });
  if (!call.host()) {
    return bytes;
  }
  int64_t size = 0;
  if (exchange.is_empty()) {
    const at::Tensor length = at::full({1}, bytes.numel(), at::kLong);
    call.pass_down(length, root);
    size = length.item<int64_t>();
  } else {
    size = length_from(exchange, root);
    if (size <= kMaxLength) {
      return exchange.bytes(root, kLengthBytes, size);
    }
  }
  const at::Tensor sent = call.rank() == root ? bytes : at::empty({size}, at::kByte);
  if (size > 0) {
    call.pass_down(sent, root);
  }
  return sent;
}

}  // namespace

void all_to_all_single(const RankCall& call, const at::Tensor& output, const at::Tensor& input,
                       const std::vector<int64_t>& output_rows,
                       const std::vector<int64_t>& input_rows) {
  const at::NoGradGuard no_grad;
  const auto bytes = [&] {
    return ByteCounts{.received = row_bytes(output, output_rows, call.size()),
                      .sent = row_bytes(input, input_rows, call.size())};
  };
  agree_on_exchange(
      call,
      [&] {
        call.check_tensors({output, input});
        detail::check_written({output});
        check_rows("output", output, output_rows, call.size());
        check_rows("input", input, input_rows, call.size());
        if (output.sizes().slice(1) != input.sizes().slice(1)) {
          detail::refuse("rows of input and output must have one shape");
        }
      },
      [&] { return call.signature("all-to-all", {no_rows(output)}); }, bytes);
  if (!call.sends(input)) {
    output.detach().copy_(input);
    return;
  }
  const at::Tensor copy = call.sendable(output);
  auto [received, sent] = bytes();
  call.exchange_bytes(as_bytes(copy), as_bytes(call.sendable(input)), std::move(received),
                      std::move(sent));
  detail::copy_back(output, copy);
}

Tensors all_gather_bytes(const RankCall& call, const at::Tensor& bytes) {
  const at::Tensor mine = with_length(bytes);
  const auto exchange = call.agree([] {}, [] { return CallSignature("all-gather of bytes"); },
                                   [&](int64_t) { return mine; });
  std::vector<int64_t> lengths;
  if (exchange.is_empty()) {
    const at::Tensor all = call.gather_sendable(at::full({1}, bytes.numel(), at::kLong));
    lengths.assign(all.const_data_ptr<int64_t>(), all.const_data_ptr<int64_t>() + call.size());
  }
  for (int64_t rank = 0; rank < call.size() && !exchange.is_empty(); ++rank) {
    lengths.push_back(length_from(exchange, rank));
  }
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const bool is_carried = !exchange.is_empty() && longest <= kMaxLength;
  at::Tensor all;
  if (!is_carried) {
    at::Tensor padded = at::zeros({longest}, at::kByte);
    padded.narrow(0, 0, bytes.numel()).copy_(bytes);
    all = call.gather_sendable(padded);
  }
  Tensors results;
  for (int64_t rank = 0; rank < call.size(); ++rank) {
    const int64_t length = lengths[static_cast<size_t>(rank)];
    results.push_back(is_carried ? exchange.bytes(rank, kLengthBytes, length)
                                 : all.select(0, rank).narrow(0, 0, length));
  }
  return results;
}

}  // namespace collectives

std::unique_ptr<Work> ProcessGroup::all_to_all(const std::vector<torch::Tensor>& outputs,
                                               const std::vector<torch::Tensor>& inputs,
                                               int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { collectives::all_to_all(call, outputs, inputs); });
}

std::unique_ptr<Work> ProcessGroup::all_to_all_single(const torch::Tensor& output,
                                                      const torch::Tensor& input,
                                                      const int64_t* output_rows,
                                                      const int64_t* input_rows, int32_t mode) {
  const auto rows = [&](const int64_t* first) {
    return first == nullptr ? std::vector<int64_t>()
                            : std::vector<int64_t>(first, first + impl_->world_size());
  };
  return impl_->collective(
      mode, [=, outputs = rows(output_rows), inputs = rows(input_rows)](const RankCall& call) {
        collectives::all_to_all_single(call, output, input, outputs, inputs);
      });
}

std::unique_ptr<Work> ProcessGroup::all_gather_bytes(const torch::Tensor& bytes, int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { return collectives::all_gather_bytes(call, bytes); });
}

std::unique_ptr<Work> ProcessGroup::broadcast_bytes(const torch::Tensor& bytes, int64_t root,
                                                    int32_t mode) {
  return impl_->collective(
      mode, [=](const RankCall& call) { return collectives::broadcast_bytes(call, bytes, root); });
}

}  // namespace torchfeed
