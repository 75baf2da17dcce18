// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/row_recipe.h"

namespace torchfeed {

/// The conversion of the numbers of a row: cast, scaled and normalised. Each operation is rounded
/// to float32, as torch's `x.to(float32).mul(factor).sub(mean).div(std)`. Immutable and
/// thread-safe.
class RowValues {
 public:
  /// Float32 operations on a number.
  struct Terms {
    float factor;
    ElementScale scale;
  };

  using Conversion = void (*)(std::byte* target, const std::byte* source, std::size_t count,
                              const Terms& terms);

  /// @param source, result  numbers of `Element`, as `result_of` allows them
  RowValues(const RowRecipe& recipe, int64_t source, int64_t result);

  /// Converts adjacent elements of one channel; any channel if all have the same scale.
  void convert(std::byte* target, const std::byte* source, std::size_t count,
               std::size_t channel) const {
    conversion_(target, source, count, terms_[channel]);
  }

  [[nodiscard]] std::size_t source_bytes() const { return source_bytes_; }
  [[nodiscard]] std::size_t result_bytes() const { return result_bytes_; }
  /// Returns the number of channels that differ.
  [[nodiscard]] std::size_t channels() const { return terms_.size(); }

 private:
  std::vector<Terms> terms_;
  std::size_t source_bytes_;
  std::size_t result_bytes_;
  Conversion conversion_;
};

}  // namespace torchfeed
