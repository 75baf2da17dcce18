// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/rows/byte_values.h"
#include "core/rows/row_recipe.h"
#include "core/stores.h"

namespace torchfeed {

/// The conversion of the numbers of a row: cast, scaled and normalized. Each operation is rounded
/// to float32, as torch's `x.to(float32).mul(factor).sub(mean).div(std)`, and may be rounded to
/// float16 or bfloat16 last. Immutable and thread-safe.
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

  /// Converts adjacent elements of one channel; any channel if all have the same scale. If the
  /// stores are streamed, `end_streaming` must follow.
  void convert(std::byte* target, const std::byte* source, std::size_t count, std::size_t channel,
               Stores stores) const {
    if (of_bytes_ != nullptr) {
      of_bytes_(target, source, count, byte_results_[channel], stores);
    } else {
      compute(target, source, count, channel);
    }
  }

  [[nodiscard]] std::size_t source_bytes() const { return source_bytes_; }
  [[nodiscard]] std::size_t result_bytes() const { return result_bytes_; }
  /// Returns the number of channels that differ.
  [[nodiscard]] std::size_t channels() const { return terms_.size(); }

 private:
  using Rounding = void (*)(uint16_t* target, const float* source, std::size_t count);

  static Rounding rounding_to(Element result);
  void compute(std::byte* target, const std::byte* source, std::size_t count,
               std::size_t channel) const;
  void tabulate(Element result);

  std::vector<Terms> terms_;
  std::size_t source_bytes_;
  std::size_t result_bytes_;
  Conversion conversion_;  // to the result, or to the float32 that is rounded to it
  Rounding rounding_;      // null if nothing is rounded
  std::vector<ByteResults> byte_results_;
  ByteConversion of_bytes_ = nullptr;  // from bytes, where a table of each channel is small
};

}  // namespace torchfeed
