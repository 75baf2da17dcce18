// SPDX-License-Identifier: Apache-2.0
#include "torch/base/live_count.h"

#include <atomic>
#include <cstdint>

#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {
std::atomic<int64_t> live{0};
}  // namespace

LiveCount::LiveCount() { live.fetch_add(1, std::memory_order_relaxed); }

LiveCount::~LiveCount() { live.fetch_sub(1, std::memory_order_relaxed); }

int64_t live_objects() { return live.load(std::memory_order_relaxed); }

}  // namespace torchfeed
