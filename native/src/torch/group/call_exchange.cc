// SPDX-License-Identifier: Apache-2.0
#include "torch/group/call_exchange.h"

#include <cstring>

#include "torch/flight/peer_messages.h"

namespace torchfeed::detail {
namespace {

constexpr int64_t kWordsBytes = CallSignature::kWords * static_cast<int64_t>(sizeof(int64_t));

at::Tensor message_of(const at::Tensor& words, const at::Tensor& values) {
  const int64_t bytes = values.defined() ? static_cast<int64_t>(values.nbytes()) : 0;
  at::Tensor message = at::empty({kWordsBytes + bytes}, at::kByte);
  auto* first = message.mutable_data_ptr<uint8_t>();
  std::memcpy(first, words.const_data_ptr<int64_t>(), static_cast<size_t>(kWordsBytes));
  if (bytes > 0) {
    std::memcpy(first + kWordsBytes, values.const_data_ptr(), static_cast<size_t>(bytes));
  }
  return message;
}

}  // namespace

CallExchange::CallExchange(c10d::Backend& backend, InFlight& in_flight, const CallSignature& mine,
                           const Values& values, std::chrono::milliseconds limit) {
  PeerMessages messages(backend, in_flight, MessageKind::kCall);
  messages_.resize(static_cast<size_t>(backend.getSize()));
  for (int peer = 0; peer < backend.getSize(); ++peer) {
    if (peer != backend.getRank()) {
      auto& message = messages_[static_cast<size_t>(peer)];
      message = at::empty({kWordsBytes + kMaxBytes}, at::kByte);
      messages.receive(peer, message);
    }
  }
  const at::Tensor words = mine.words();
  at::Tensor last_values;
  at::Tensor last_message;
  for (int to = 0; to < backend.getSize(); ++to) {
    const at::Tensor own = values ? values(to) : at::Tensor();
    if (!last_message.defined() || !own.is_same(last_values)) {
      last_values = own;
      last_message = message_of(words, own);
    }
    if (to == backend.getRank()) {
      messages_[static_cast<size_t>(to)] = last_message;
    } else {
      messages.send(to, last_message);
    }
  }
  messages.await(limit);
}

const int64_t* CallExchange::words(int64_t rank) const {
  return reinterpret_cast<const int64_t*>(
      messages_.at(static_cast<size_t>(rank)).const_data_ptr<uint8_t>());
}

at::Tensor CallExchange::values(int64_t from, const at::Tensor& like) const {
  return bytes(from, 0, static_cast<int64_t>(like.nbytes()))
      .view(like.scalar_type())
      .view(like.sizes());
}

at::Tensor CallExchange::bytes(int64_t from, int64_t start, int64_t length) const {
  return messages_.at(static_cast<size_t>(from)).narrow(0, kWordsBytes + start, length);
}

}  // namespace torchfeed::detail
