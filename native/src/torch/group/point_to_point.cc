// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "torch/group/collectives.h"

namespace torchfeed {
namespace {

using detail::CallSignature;

constexpr int64_t kTags = int64_t{1} << 28;
constexpr int64_t kFirstTag = int64_t{1} << 30;  // below are those that libtorch draws itself

/// The tags of Gloo that a message with a tag of ours takes: one for each kind of content.
int header_tag(int64_t tag) { return static_cast<int>(kFirstTag + 2 * tag); }

int values_tag(int64_t tag, Protocol protocol) {
  return static_cast<int>(protocol == Protocol::kPython ? tag : kFirstTag + 2 * tag + 1);
}

}  // namespace

void Collectives::check_peer(const char* name, int64_t peer, int64_t tag) const {
  detail::check_rank(name, peer, world_size_);
  if (peer == rank_) {
    detail::refuse(std::string(name) + " must be another rank than this one, got " +
                   std::to_string(peer));
  }
  if (tag < 0 || tag >= kTags) {
    detail::refuse("tag must be in [0, " + std::to_string(kTags) + "), got " + std::to_string(tag));
  }
}

// Always between hosts: NCCL has no tags, so its messages would have to be in one order.
void Collectives::send(const at::Tensor& tensor, int64_t to, int64_t tag) {
  const at::NoGradGuard no_grad;
  check_tensor(tensor);
  check_peer("destination", to, tag);
  const auto peer = static_cast<int>(to);
  c10::intrusive_ptr<c10d::Work> header;
  if (is_checked()) {
    Tensors words = {CallSignature(detail::Operation::kSend).tensors({tensor}).words()};
    header = backends_.host->send(words, peer, header_tag(tag));
  }
  if (!is_silent(tensor, tensor.numel())) {
    Tensors values = {detail::as_bytes(detail::dense(tensor).cpu())};
    in_flight_.await_message(backends_.host->send(values, peer, values_tag(tag, protocol_)), peer);
  }
  if (header) {
    in_flight_.await_message(header, peer);
  }
}

void Collectives::receive(const at::Tensor& tensor, int64_t from, int64_t tag) {
  const at::NoGradGuard no_grad;
  check_tensor(tensor);
  detail::check_written({tensor});
  check_peer("source", from, tag);
  const auto peer = static_cast<int>(from);
  if (is_checked()) {
    const at::Tensor expected = CallSignature(detail::Operation::kSend).tensors({tensor}).words();
    Tensors words = {at::empty_like(expected)};
    in_flight_.await_message(backends_.host->recv(words, peer, header_tag(tag)), peer);
    if (!at::equal(expected, words[0])) {
      const auto* sent = words[0].const_data_ptr<int64_t>();
      // The values would be taken for the next message's.
      Tensors dropped = {at::empty({CallSignature::bytes(sent)}, at::kByte)};
      if (dropped[0].numel() > 0) {
        in_flight_.await_message(backends_.host->recv(dropped, peer, values_tag(tag, protocol_)),
                                 peer);
      }
      detail::refuse("rank " + std::to_string(from) + " makes a " + CallSignature::describe(sent) +
                     ", this rank expects a " +
                     CallSignature::describe(expected.const_data_ptr<int64_t>()));
    }
  }
  if (!is_silent(tensor, tensor.numel())) {
    const at::Tensor copy = detail::dense(tensor).cpu();
    Tensors values = {detail::as_bytes(copy)};
    in_flight_.await_message(backends_.host->recv(values, peer, values_tag(tag, protocol_)), peer);
    detail::copy_back(tensor, copy);
  }
}

}  // namespace torchfeed
