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
  static constexpr int64_t kNone = -1;
  static constexpr int64_t kUnknown = -2;

  int64_t operations;  ///< the collective operations that it has done
  /// The rank for whose loss it leaves; `kNone` if it leaves for another reason, `kUnknown` if one
  /// of its operations has failed for the loss of a rank that it does not know.
  int64_t lost;
};

/// A rank whose connection has ended.
struct Loss {
  int64_t rank;                        ///< -1 if unknown
  std::optional<Departure> departure;  ///< nothing if it has died, or does not tell
};

/// Returns the rank for which the others are lost: the one for which a rank says that it leaves, or
/// the one that has died; else, of those that have left by themselves, the one that has done the
/// fewest operations. -1 if several have died, since which was the first is not known, or if those
/// that have left do not know the one that they have lost.
[[nodiscard]] int64_t culprit_of(const std::vector<Loss>& losses);
/// Returns the rank for whose loss the connection to `rank` has ended: that rank, or the one for
/// which it has left; -1 if that is unknown.
[[nodiscard]] int64_t culprit_of(const std::vector<Loss>& losses, int64_t rank);
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
