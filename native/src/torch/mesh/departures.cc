// SPDX-License-Identifier: Apache-2.0
#include "torch/mesh/departures.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <exception>

#include "torch/mesh/message_kind.h"

namespace torchfeed::detail {
namespace {

constexpr int kTag = static_cast<int>(MessageKind::kDeparture);

}  // namespace

int64_t culprit_of(const std::vector<Loss>& losses) {
  const auto is_dead = [](const Loss& loss) { return !loss.departure; };
  const auto dead = std::count_if(losses.begin(), losses.end(), is_dead);
  if (dead > 0) {
    return dead > 1 ? -1 : std::find_if(losses.begin(), losses.end(), is_dead)->rank;
  }
  for (const auto& loss : losses) {
    if (loss.departure->lost >= 0) {
      return loss.departure->lost;
    }
  }
  return losses.empty() ? -1 : losses.front().rank;
}

bool has_died(const std::vector<Loss>& losses) {
  return std::any_of(losses.begin(), losses.end(),
                     [](const Loss& loss) { return !loss.departure || loss.departure->lost >= 0; });
}

// A second message is awaited that never comes, so that the end of the connection is seen there.
Departures::Departures(c10d::Backend& backend) : backend_(backend) {
  for (int rank = 0; rank < backend.getSize(); ++rank) {
    if (rank == backend.getRank()) {
      continue;
    }
    peers_.emplace_back();
    Peer& peer = peers_.back();
    peer.rank = rank;
    peer.words = at::empty({2}, at::kLong);
    std::vector<at::Tensor> words = {peer.words};
    std::vector<at::Tensor> nothing = {at::empty({2}, at::kLong)};
    try {
      peer.departure = backend.recv(words, rank, kTag);
      peer.end = backend.recv(nothing, rank, kTag);
    } catch (const std::exception&) {
      peer.is_lost = true;  // the connection has ended already
    }
  }
}

void Departures::announce(Departure mine) {
  std::vector<at::Tensor> words = {at::tensor({mine.operations, mine.lost}, at::kLong)};
  for (const auto& peer : peers_) {
    try {
      (void)backend_.send(words, static_cast<int>(peer.rank), kTag);
    } catch (const std::exception&) {  // that one has left before
      continue;
    }
  }
}

std::vector<Loss> Departures::losses() {
  std::vector<Loss> losses;
  for (auto& peer : peers_) {
    if (!peer.is_lost) {
      look_at(peer);
    }
    if (peer.is_lost) {
      losses.push_back({peer.rank, peer.told});
    }
  }
  return losses;
}

/// Gloo ends the wait for messages in their order when it has seen the end of a connection; then
/// the first one has arrived or never will, so that its wait ends at once.
void Departures::look_at(Peer& peer) {
  try {
    peer.end->abort();  // does not wait
    (void)peer.end->wait();
    return;
  } catch (const std::exception&) {
    peer.is_lost = true;
  }
  try {
    if (peer.departure->wait()) {
      const auto* words = peer.words.const_data_ptr<int64_t>();
      peer.told = Departure{words[0], words[1]};
    }
  } catch (const std::exception&) {
    peer.told.reset();  // it has died
  }
}

}  // namespace torchfeed::detail
