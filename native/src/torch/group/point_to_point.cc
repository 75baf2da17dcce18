// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "torch/group/process_group_impl.h"
#include "torch/group/rank_call.h"

namespace torchfeed {

using detail::CallSignature;

namespace collectives {
namespace {

using Tensors = std::vector<at::Tensor>;

constexpr int64_t kTags = int64_t{1} << 28;
constexpr int64_t kFirstTag = int64_t{1} << 30;  // below are those that libtorch draws itself

/// The tags of Gloo that a message with a tag of ours takes: one for each kind of content.
int header_tag(int64_t tag) { return static_cast<int>(kFirstTag + 2 * tag); }

int values_tag(const RankCall& call, int64_t tag) {
  return static_cast<int>(call.is_python() ? tag : kFirstTag + 2 * tag + 1);
}

void check_peer(const RankCall& call, const char* name, int64_t peer, int64_t tag) {
  detail::check_rank(name, peer, call.size());
  if (peer == call.rank()) {
    detail::refuse(std::string(name) + " must be another rank than this one, got " +
                   std::to_string(peer));
  }
  if (tag < 0 || tag >= kTags) {
    detail::refuse("tag must be in [0, " + std::to_string(kTags) + "), got " + std::to_string(tag));
  }
}

// Always between hosts: NCCL has no tags, so its messages would have to be in one order.
void send(const RankCall& call, const at::Tensor& tensor, int64_t to, int64_t tag) {
  const at::NoGradGuard no_grad;
  call.check_tensor(tensor);
  check_peer(call, "destination", to, tag);
  const auto peer = static_cast<int>(to);
  c10::intrusive_ptr<c10d::Work> header;
  if (call.is_checked()) {
    Tensors words = {CallSignature("send").tensors({tensor}).words()};
    header = call.host()->send(words, peer, header_tag(tag));
  }
  if (!call.is_silent(tensor, tensor.numel())) {
    Tensors values = {detail::as_bytes(detail::dense(tensor).cpu())};
    call.in_flight().await_message(call.host()->send(values, peer, values_tag(call, tag)), peer);
  }
  if (header) {
    call.in_flight().await_message(header, peer);
  }
}

void receive(const RankCall& call, const at::Tensor& tensor, int64_t from, int64_t tag) {
  const at::NoGradGuard no_grad;
  call.check_tensor(tensor);
  detail::check_written({tensor});
  check_peer(call, "source", from, tag);
  const auto peer = static_cast<int>(from);
  if (call.is_checked()) {
    const at::Tensor expected = CallSignature("send").tensors({tensor}).words();
    Tensors words = {at::empty_like(expected)};
    call.in_flight().await_message(call.host()->recv(words, peer, header_tag(tag)), peer);
    if (!at::equal(expected, words[0])) {
      const auto* sent = words[0].const_data_ptr<int64_t>();
      // The values would be taken for the next message's.
      Tensors dropped = {at::empty({CallSignature::bytes(sent)}, at::kByte)};
      if (dropped[0].numel() > 0) {
        call.in_flight().await_message(call.host()->recv(dropped, peer, values_tag(call, tag)),
                                       peer);
      }
      detail::refuse("rank " + std::to_string(from) + " makes a " + CallSignature::describe(sent) +
                     ", this rank expects a " +
                     CallSignature::describe(expected.const_data_ptr<int64_t>()));
    }
  }
  if (!call.is_silent(tensor, tensor.numel())) {
    const at::Tensor copy = detail::dense(tensor).cpu();
    Tensors values = {detail::as_bytes(copy)};
    call.in_flight().await_message(call.host()->recv(values, peer, values_tag(call, tag)), peer);
    detail::copy_back(tensor, copy);
  }
}

}  // namespace
}  // namespace collectives

std::unique_ptr<Work> ProcessGroup::send(const torch::Tensor& tensor, int64_t to, int64_t tag,
                                         int32_t mode) {
  return impl_->message(mode, true, to, tag,
                        [=](const RankCall& call) { collectives::send(call, tensor, to, tag); });
}

std::unique_ptr<Work> ProcessGroup::receive(const torch::Tensor& tensor, int64_t from, int64_t tag,
                                            int32_t mode) {
  return impl_->message(mode, false, from, tag, [=](const RankCall& call) {
    collectives::receive(call, tensor, from, tag);
  });
}

}  // namespace torchfeed
