// SPDX-License-Identifier: Apache-2.0
#include "torch/reduce/uneven_inputs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed::detail {

UnevenInputs::UnevenInputs(std::vector<int64_t> passes, int64_t rank, int64_t world_size,
                           bool divides_by_active)
    : rank_(rank),
      are_counted_(!passes.empty()),
      divides_by_active_(divides_by_active),
      left_(std::move(passes)) {
  left_.resize(static_cast<size_t>(world_size));
  are_exhausted_ = are_counted_ && active() == 0;
}

void UnevenInputs::announce(std::vector<int64_t> inputs) {
  left_ = std::move(inputs);
  are_exhausted_ = active() == 0;
}

void UnevenInputs::check_input() const {
  if (own() == 0) {
    throw Error(ErrorCode::kIllegalState,
                are_counted_ ? "this rank has run all backward passes of its uneven inputs"
                             : "the rank must announce a batch before each backward pass");
  }
}

void UnevenInputs::check_no_input() const {
  if (own() > 0) {
    throw Error(ErrorCode::kIllegalState, "this rank has " + std::to_string(own()) +
                                              " backward passes left, which it must run before it "
                                              "can shadow other ranks' passes");
  }
}

void UnevenInputs::advance() {
  last_active_ = first_active();
  for (auto& passes : left_) {
    passes = std::max<int64_t>(passes - 1, 0);
  }
  are_exhausted_ = are_counted_ && active() == 0;
}

int64_t UnevenInputs::active() const {
  return std::count_if(left_.begin(), left_.end(), [](int64_t passes) { return passes > 0; });
}

int64_t UnevenInputs::first_active() const {
  const auto first =
      std::find_if(left_.begin(), left_.end(), [](int64_t passes) { return passes > 0; });
  return first == left_.end() ? 0 : first - left_.begin();
}

}  // namespace torchfeed::detail
