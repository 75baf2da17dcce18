// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <vector>

#include "torchfeed/batch_feed.h"

namespace torchfeed {

using Told = std::array<int64_t, BatchFeed::kToldCount>;

/// The columns of a feed's next batch.
inline std::vector<at::Tensor> take(BatchFeed& feed, int64_t timeout_ms) {
  std::vector<at::Tensor> columns;
  Told told{};
  feed.take(timeout_ms, columns, told.data());
  return columns;
}

}  // namespace torchfeed
