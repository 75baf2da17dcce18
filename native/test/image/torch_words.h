// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

#include "core/draws/random_words.h"

namespace torchfeed::testing {

/// The words of torch's CPU generator after `torch.manual_seed`.
class TorchWords final : public RandomWords {
 public:
  explicit TorchWords(uint32_t seed) : generator_(seed) {}
  uint32_t next() override { return static_cast<uint32_t>(generator_()); }

 private:
  std::mt19937 generator_;
};

}  // namespace torchfeed::testing
