// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <vector>

#include "torchfeed/batch_feed.h"

namespace torchfeed {

using Info = std::array<int64_t, BatchFeed::kInfoCount>;

/// A batch as the facade delivers it.
struct TakenBatch {
  std::vector<at::Tensor> columns;
  Info info{};
};

/// Returns the next batch of a feed.
inline TakenBatch take_batch(BatchFeed& feed, int64_t timeout_ms) {
  TakenBatch batch;
  feed.take(timeout_ms, batch.columns, batch.info.data());
  return batch;
}

/// Returns the columns of the next batch of a feed.
inline std::vector<at::Tensor> take(BatchFeed& feed, int64_t timeout_ms) {
  return take_batch(feed, timeout_ms).columns;
}

}  // namespace torchfeed
