// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "torchfeed/error.h"

namespace torchfeed {

/// The numbers of rows.
using Rows = std::vector<std::size_t>;

/// The seed and epoch from which, together with its index, a sample draws its random numbers.
struct RandomKey {
  int64_t seed = 0;
  int64_t epoch = 0;
};

/// The rows that a batch wants, and their places: the rows of the batch that they become.
struct WantedRows {
  std::span<const std::size_t> rows;
  std::span<const std::size_t> places = {};   // of each of the rows; if empty, row i has place i
  std::span<const std::size_t> samples = {};  // of each: its index in the dataset that was asked
  RandomKey key = {};

  [[nodiscard]] std::size_t place(std::size_t i) const { return places.empty() ? i : places[i]; }
  /// Returns the indices of the samples; until a subset or concatenation is passed, the rows.
  [[nodiscard]] std::span<const std::size_t> indices() const {
    return samples.empty() ? rows : samples;
  }
};

/// Thrown for a row that can no longer be read from its file.
class UnreadableRow : public Error {
 public:
  UnreadableRow(std::size_t place, const std::string& message)
      : Error(ErrorCode::kUnreadable, message), place_(place) {}
  /// Returns the place of the row, which is the same in every subset and concatenation.
  [[nodiscard]] std::size_t place() const noexcept { return place_; }
  [[nodiscard]] UnreadableRow moved_to(std::size_t place) const {
    UnreadableRow moved = *this;
    moved.place_ = place;
    return moved;
  }

 private:
  std::size_t place_;
};

}  // namespace torchfeed
