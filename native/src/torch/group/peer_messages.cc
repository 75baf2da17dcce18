// SPDX-License-Identifier: Apache-2.0
#include "torch/group/peer_messages.h"

#include <utility>

namespace torchfeed::detail {

void PeerMessages::receive(int64_t from, const at::Tensor& values) {
  std::vector<at::Tensor> buffer = {values};
  messages_.push_back({backend_.recv(buffer, static_cast<int>(from), tag_), from});
}

void PeerMessages::send(int64_t to, const at::Tensor& values) {
  std::vector<at::Tensor> buffer = {values};
  messages_.push_back({backend_.send(buffer, static_cast<int>(to), tag_), to});
}

void PeerMessages::await() { in_flight_.await_messages(std::exchange(messages_, {})); }

}  // namespace torchfeed::detail
