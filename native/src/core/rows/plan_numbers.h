// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed {

/// The numbers of a plan, from front to back. Invalid numbers are an `Error` of code
/// `kInvalidArgument`.
class PlanNumbers {
 public:
  /// @param plan  the kind of plan, for messages
  PlanNumbers(std::string plan, std::span<const double> numbers)
      : plan_(std::move(plan)), rest_(numbers) {}

  [[nodiscard]] bool is_empty() const { return rest_.empty(); }

  double next() {
    if (rest_.empty()) {
      refuse("end within a step");
    }
    const double number = rest_.front();
    rest_ = rest_.subspan(1);
    return number;
  }

  int64_t next_integer(int64_t min, int64_t max) {
    const double number = next();
    if (!(number >= static_cast<double>(min) && number <= static_cast<double>(max)) ||
        number != std::floor(number)) {
      refuse("must have an integer in [" + std::to_string(min) + ", " + std::to_string(max) +
             "], got " + std::to_string(number));
    }
    return static_cast<int64_t>(number);
  }

  [[noreturn]] void refuse(const std::string& problem) const {
    throw Error(ErrorCode::kInvalidArgument, "the steps of " + plan_ + ' ' + problem);
  }

 private:
  const std::string plan_;
  std::span<const double> rest_;
};

}  // namespace torchfeed
