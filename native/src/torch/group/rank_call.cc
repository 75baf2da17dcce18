// SPDX-License-Identifier: Apache-2.0
#include "torch/group/rank_call.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "torch/flight/peer_messages.h"

namespace torchfeed {
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

std::vector<int64_t> with_ranks(at::IntArrayRef shape, int64_t world_size) {
  std::vector<int64_t> stacked = shape.vec();
  stacked.insert(stacked.begin(), world_size);
  return stacked;
}

}  // namespace detail

using detail::as_bytes;
using detail::bytes_of;
using detail::CallExchange;
using detail::CallSignature;
using detail::dense;
using detail::MessageKind;
using detail::PeerMessages;
using detail::with_ranks;

RankCall::RankCall(const GroupBackends& backends, InFlight& in_flight, int64_t rank,
                   int64_t world_size, Protocol protocol)
    : backends_(backends),
      in_flight_(in_flight),
      rank_(rank),
      world_size_(world_size),
      protocol_(protocol) {}

bool RankCall::is_between_devices(const at::Tensor& like) const {
  return backends_.device == like.device();
}

bool RankCall::sends(const at::Tensor& like) const {
  return backends_.host || is_between_devices(like);
}

at::Tensor RankCall::sendable(const at::Tensor& tensor) const {
  const at::Tensor values = dense(tensor);
  return is_between_devices(tensor) || !backends_.host ? values : values.cpu();
}

void RankCall::await(const at::Tensor& sendable, const Start& start, Needs needs) const {
  if (is_between_devices(sendable)) {
    in_flight_.await_on_device([&] { return start(*backends_.device_backend); }, needs);
  } else {
    in_flight_.await(start(*backends_.host), needs);
  }
}

// If the ranks have compared the call, all of them have begun it.
Needs RankCall::rooted(Needs::Pattern pattern, int64_t root) const {
  return is_checked() ? Needs{} : Needs{pattern, root};
}

void RankCall::check_tensor(const at::Tensor& tensor) const {
  detail::check_tensor(tensor);
  const c10::Device device = tensor.device();
  if (backends_.device && device.type() == backends_.device->type() &&
      device != *backends_.device) {
    detail::refuse("tensor must be on cpu or " + backends_.device->str() +
                   ", with which the group was joined, got one on " + device.str());
  }
}

void RankCall::check_tensors(const Tensors& tensors) const {
  detail::check_tensors(tensors);
  check_tensor(tensors[0]);
}

CallSignature RankCall::signature(detail::CallName name, const Tensors& tensors) const {
  return CallSignature(name).tensors(tensors).between_devices(is_between_devices(tensors[0]));
}

// Mismatched sizes would abort the process inside Gloo, so they are detected first.
// A rank that rejects its own arguments announces it, since the others would wait for it.
CallExchange RankCall::agree(const Check& check, const Describe& describe, const Values& values,
                             std::chrono::milliseconds limit) const {
  if (!backends_.host || !is_checked()) {
    check();
    return {};
  }
  const std::string refusal = detail::refusal_by(check);
  CallExchange exchange(*backends_.host, in_flight_,
                        refusal.empty() ? describe() : CallSignature::refused(),
                        refusal.empty() ? values : Values(), limit);
  compare(refusal, exchange);
  return exchange;
}

void RankCall::compare(const std::string& refusal, const CallExchange& exchange) const {
  if (!refusal.empty()) {
    detail::refuse(refusal);
  }
  for (int64_t other = 0; other < world_size_; ++other) {
    if (CallSignature::is_refused(exchange.words(other))) {
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

bool RankCall::is_carried(const at::Tensor& like, int64_t bytes) const {
  return is_checked() && backends_.host && !is_between_devices(like) && bytes > 0 &&
         bytes <= CallExchange::kMaxBytes;
}

at::Tensor RankCall::gathered(const CallExchange& exchange, const at::Tensor& like) const {
  at::Tensor result = at::empty(with_ranks(like.sizes(), world_size_), like.options());
  for (int64_t rank = 0; rank < world_size_; ++rank) {
    result.select(0, rank).copy_(exchange.values(rank, like));
  }
  return result;
}

bool RankCall::passes_messages(const at::Tensor& sendable) const {
  return protocol_ != Protocol::kPython && !is_between_devices(sendable);
}

// `ProcessGroupGloo` would gather into a tensor of its own, which it frees before Gloo has let go
// of it: if a rank is lost, the others' rows are written into memory that is no longer there. Of a
// broadcast, a scatter or an all-to-all that has begun to send or receive, its thread would keep
// the tensors until the timeout, since Gloo does not wake it.
void RankCall::pass_row(const at::Tensor& row, const std::vector<int64_t>& receivers,
                        const at::Tensor& rows) const {
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

void RankCall::pass_row_to_all(const at::Tensor& row, const at::Tensor& rows) const {
  std::vector<int64_t> receivers(static_cast<size_t>(world_size_));
  std::iota(receivers.begin(), receivers.end(), int64_t{0});
  pass_row(row, receivers, rows);
}

at::Tensor RankCall::gather_sendable(const at::Tensor& sendable) const {
  at::Tensor result = at::empty(with_ranks(sendable.sizes(), world_size_), sendable.options());
  if (!sends(sendable)) {
    result.select(0, 0).copy_(sendable);
  } else if (is_silent(sendable, sendable.numel())) {
    return result;
  } else if (passes_messages(sendable)) {
    pass_row_to_all(as_bytes(sendable), as_bytes(result).view({world_size_, bytes_of(sendable)}));
  } else {
    std::vector<Tensors> outputs(1);
    for (int64_t rank = 0; rank < world_size_; ++rank) {
      outputs[0].push_back(as_bytes(result.select(0, rank)));
    }
    Tensors inputs = {as_bytes(sendable)};
    await(sendable, [&](c10d::Backend& backend) {
      return backend.allgather(outputs, inputs, c10d::AllgatherOptions());
    });
  }
  return result;
}

void RankCall::pass_down(const at::Tensor& sendable, int64_t root) const {
  if (passes_messages(sendable)) {
    detail::pass_down(*backends_.host, in_flight_, as_bytes(sendable), root);
    return;
  }
  Tensors sent = {as_bytes(sendable)};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  await(
      sendable, [&](c10d::Backend& backend) { return backend.broadcast(sent, options); },
      rooted(Needs::Pattern::kTree, root));
}

void RankCall::pass_parts(const at::Tensor& part, const Tensors& parts, int64_t root) const {
  PeerMessages messages(*backends_.host, in_flight_, MessageKind::kParts);
  if (rank_ != root) {
    messages.receive(root, part);
  }
  for (int64_t to = 0; rank_ == root && to < world_size_; ++to) {
    if (to == rank_) {
      part.copy_(parts[static_cast<size_t>(to)]);
    } else {
      messages.send(to, parts[static_cast<size_t>(to)]);
    }
  }
  messages.await();
}

void RankCall::exchange_bytes(const at::Tensor& received, const at::Tensor& sent,
                              std::vector<int64_t> received_bytes,
                              std::vector<int64_t> sent_bytes) const {
  at::Tensor output = received;
  at::Tensor input = sent;
  if (!passes_messages(input)) {
    await(input, [&](c10d::Backend& backend) {
      return backend.alltoall_base(output, input, received_bytes, sent_bytes,
                                   c10d::AllToAllOptions());
    });
    return;
  }
  const auto parts_of = [&](const at::Tensor& all, const std::vector<int64_t>& bytes) {
    return bytes.empty() ? all.chunk(world_size_) : all.split_with_sizes(bytes);
  };
  const Tensors outputs = parts_of(output.view({-1}), received_bytes);
  const Tensors inputs = parts_of(input.view({-1}), sent_bytes);
  PeerMessages messages(*backends_.host, in_flight_, MessageKind::kParts);
  for (int64_t peer = 0; peer < world_size_; ++peer) {
    const at::Tensor& part = outputs[static_cast<size_t>(peer)];
    if (peer == rank_) {
      part.copy_(inputs[static_cast<size_t>(peer)]);
    } else if (part.numel() > 0) {
      messages.receive(peer, part);
    }
  }
  for (int64_t peer = 0; peer < world_size_; ++peer) {
    const at::Tensor& part = inputs[static_cast<size_t>(peer)];
    if (peer != rank_ && part.numel() > 0) {
      messages.send(peer, part);
    }
  }
  messages.await();
}

}  // namespace torchfeed
