// SPDX-License-Identifier: Apache-2.0
#include "torch/flight/peer_messages.h"

#include <utility>

namespace torchfeed::detail {

void PeerMessages::receive(int64_t from, const at::Tensor& values) {
  std::vector<at::Tensor> buffer = {values};
  messages_.push_back({backend_.recv(buffer, static_cast<int>(from), tag_), from});
}

void PeerMessages::send(int64_t to, const at::Tensor& values) {
  std::vector<at::Tensor> buffer = {values};
  messages_.push_back({backend_.send(buffer, static_cast<int>(to), tag_), to, /*is_sent=*/true});
}

void PeerMessages::await(std::chrono::milliseconds limit) {
  in_flight_.await_messages(std::exchange(messages_, {}), limit);
}

// Each rank awaits two batches, also if one is empty: all ranks count the same.
void pass_down(c10d::Backend& backend, InFlight& in_flight, const at::Tensor& bytes, int64_t root) {
  const int64_t world_size = backend.getSize();
  const int64_t number = (backend.getRank() - root + world_size) % world_size;
  PeerMessages from_parent(backend, in_flight, MessageKind::kParts);
  int64_t reach = 1;  // the numbers below this rank's are less than its own plus this
  while ((number & reach) == 0 && reach < world_size) {
    reach *= 2;
  }
  if (number > 0) {
    from_parent.receive((number - reach + root) % world_size, bytes);
  }
  from_parent.await();
  PeerMessages to_children(backend, in_flight, MessageKind::kParts);
  for (int64_t step = reach / 2; step > 0; step /= 2) {
    if (number + step < world_size) {
      to_children.send((number + step + root) % world_size, bytes);
    }
  }
  to_children.await();
}

}  // namespace torchfeed::detail
