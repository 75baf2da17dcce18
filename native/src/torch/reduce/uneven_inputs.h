// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace torchfeed::detail {

/// The ranks that have inputs left, backward pass by backward pass, where some have more than
/// others.
class UnevenInputs {
 public:
  /// @param passes  of each rank, how many backward passes it will run; empty if none knows
  UnevenInputs(std::vector<int64_t> passes, int64_t rank, int64_t world_size,
               bool divides_by_active);

  [[nodiscard]] bool are_counted() const { return are_counted_; }
  [[nodiscard]] bool divides_by_active() const { return divides_by_active_; }
  /// Sets which ranks have an input for the next pass, if passes are not counted: 1, else 0.
  void announce(std::vector<int64_t> inputs);
  /// Throws `ILLEGAL_STATE` unless this rank has an input for the next pass.
  void check_input() const;
  /// Throws `ILLEGAL_STATE` if this rank has an input for the next pass.
  void check_no_input() const;
  /// Ends a pass.
  void advance();

  /// Returns the number of ranks that have an input for the next pass.
  [[nodiscard]] int64_t active() const;
  /// Returns the lowest of them; rank 0 if there is none.
  [[nodiscard]] int64_t first_active() const;
  /// Returns `first_active` of the pass that ended last; rank 0 before.
  [[nodiscard]] int64_t last_active() const { return last_active_; }
  /// Returns whether no rank has an input left.
  [[nodiscard]] bool are_exhausted() const { return are_exhausted_; }

 private:
  [[nodiscard]] int64_t& own() { return left_[static_cast<size_t>(rank_)]; }
  [[nodiscard]] int64_t own() const { return left_[static_cast<size_t>(rank_)]; }

  int64_t rank_;
  bool are_counted_;
  bool divides_by_active_;
  bool are_exhausted_;
  int64_t last_active_ = 0;
  std::vector<int64_t> left_;  // of each rank, the passes for which it is known to have an input
};

}  // namespace torchfeed::detail
