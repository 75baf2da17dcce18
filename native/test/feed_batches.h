// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "torchfeed/batch_feed.h"

namespace torchfeed {

/// The columns of a feed's next batch.
inline std::vector<at::Tensor> take(BatchFeed& feed, int64_t timeout_ms) {
  std::vector<at::Tensor> columns;
  feed.take(timeout_ms, columns);
  return columns;
}

}  // namespace torchfeed
