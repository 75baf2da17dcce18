// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace torchfeed::detail {

/// A message to the other ranks from one that leaves their group by itself.
struct Departure {
  int64_t operations;  ///< the collective operations that it has done
  int64_t lost;        ///< the rank for whose loss it leaves; -1 if there is none
};

/// A rank whose connection has ended.
struct Loss {
  int64_t rank;                        ///< -1 if unknown
  std::optional<Departure> departure;  ///< nothing if it has died, or does not tell
};

/// Returns the rank for which the others are lost: the one that has died, or for which a rank says
/// that it leaves; else the first one that has left. -1 if several have died: which was the first
/// is not known.
[[nodiscard]] int64_t culprit_of(const std::vector<Loss>& losses);
/// Returns whether that rank has died, or another one says so.
[[nodiscard]] bool has_died(const std::vector<Loss>& losses);

/// Tells the other ranks of a group over Gloo of this one's departure, and learns of theirs: each
/// is the last message of a connection.
class Departures {
 public:
  /// @param backend  Gloo's, which outlives this object
  explicit Departures(c10d::Backend& backend);

  /// Sends a departure if that is possible without waiting.
  void announce(Departure mine);
  /// Returns the ranks whose connections have ended, in rank order.
  [[nodiscard]] std::vector<Loss> losses();

 private:
  struct Peer {
    int64_t rank = 0;
    at::Tensor words;
    c10::intrusive_ptr<c10d::Work> departure;
    c10::intrusive_ptr<c10d::Work> end;
    bool is_lost = false;
    std::optional<Departure> told;
  };

  static void look_at(Peer& peer);

  c10d::Backend& backend_;
  std::vector<Peer> peers_;
};

}  // namespace torchfeed::detail
