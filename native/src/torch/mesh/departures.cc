// SPDX-License-Identifier: Apache-2.0
#include "torch/mesh/departures.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <exception>

#include "torch/mesh/message_kind.h"

namespace torchfeed::detail {
namespace {

constexpr int kTag = static_cast<int>(MessageKind::kDeparture);

const Loss* find(const std::vector<Loss>& losses, int64_t rank) {
  const auto found = std::find_if(losses.begin(), losses.end(),
                                  [&](const Loss& loss) { return loss.rank == rank; });
  return found == losses.end() ? nullptr : &*found;
}

/// Returns the last of the ranks each of which has left for the next one; -1 if one of them does
/// not know for whom, or they have left for each other.
int64_t last_from(const std::vector<Loss>& losses, int64_t rank) {
  for (size_t i = 0; i <= losses.size(); ++i) {
    const Loss* loss = find(losses, rank);
    if (loss == nullptr || !loss->departure || loss->departure->lost == Departure::kNone) {
      return rank;
    }
    if (loss->departure->lost == Departure::kUnknown) {
      return -1;
    }
    rank = loss->departure->lost;
  }
  return -1;
}

}  // namespace

int64_t culprit_of(const std::vector<Loss>& losses) {
  const Loss* dead = nullptr;
  const Loss* left = nullptr;  // by itself
  int64_t deaths = 0;
  for (const auto& loss : losses) {
    if (!loss.departure) {
      dead = &loss;
      ++deaths;
    } else if (loss.departure->lost >= 0) {
      if (const int64_t last = last_from(losses, loss.rank); last >= 0) {
        return last;
      }
    } else if (loss.departure->lost == Departure::kNone &&
               (left == nullptr || loss.departure->operations < left->departure->operations)) {
      left = &loss;
    }
  }
  if (deaths > 0) {
    return deaths > 1 ? -1 : dead->rank;
  }
  return left == nullptr ? -1 : left->rank;
}

int64_t culprit_of(const std::vector<Loss>& losses, int64_t rank) {
  const Loss* loss = find(losses, rank);
  if (loss != nullptr && loss->departure) {
    return last_from(losses, rank);
  }
  const int64_t culprit = culprit_of(losses);
  return culprit < 0 ? rank : culprit;  // it has died, perhaps with others
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
