// SPDX-License-Identifier: Apache-2.0
#include "core/simd_level.h"

#include <cstdio>
#include <cstdlib>

namespace torchfeed {
namespace {

SimdLevel level_of_environment() {
  const char* const name = std::getenv("TORCHFEED_SIMD");
  if (name == nullptr || *name == '\0') {
    return SimdLevel::kAvx512;
  }
  const std::optional<SimdLevel> level = simd_level_named(name);
  if (!level) {
    std::fprintf(stderr,
                 "torchfeed: TORCHFEED_SIMD must be scalar, avx2 or avx512, got %s; all vector "
                 "instructions of the processor are used\n",
                 name);
  }
  return level.value_or(SimdLevel::kAvx512);
}

}  // namespace

std::optional<SimdLevel> simd_level_named(std::string_view name) {
  if (name == "scalar") {
    return SimdLevel::kScalar;
  }
  if (name == "avx2") {
    return SimdLevel::kAvx2;
  }
  if (name == "avx512") {
    return SimdLevel::kAvx512;
  }
  return std::nullopt;
}

SimdLevel simd_level() {
  static const SimdLevel level = level_of_environment();
  return level;
}

}  // namespace torchfeed
