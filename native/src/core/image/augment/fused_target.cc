// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/fused_target.h"

#include <atomic>

#include "core/simd_level.h"

namespace torchfeed {
namespace {

bool has_fused_target() {
#ifdef TORCHFEED_FUSED_TARGET
  return simd_level() >= SimdLevel::kAvx2 && __builtin_cpu_supports("avx2") != 0 &&
         __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

std::atomic<bool>& runs() {
  static std::atomic<bool> runs{has_fused_target()};
  return runs;
}

}  // namespace

bool runs_fused_target() { return runs().load(std::memory_order_relaxed); }

void allow_fused_target(bool allowed) { runs() = allowed && has_fused_target(); }

}  // namespace torchfeed
