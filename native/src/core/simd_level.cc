// SPDX-License-Identifier: Apache-2.0
#include "core/simd_level.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace torchfeed {
namespace {

std::string_view name_in_environment() {
  const char* const name = std::getenv("TORCHFEED_SIMD");
  return name == nullptr ? "" : name;
}

/// Returns the problem of the environment variable; empty if there is none.
std::string problem_of_environment() {
  const std::string_view name = name_in_environment();
  if (name.empty() || simd_level_named(name)) {
    return "";
  }
  return "TORCHFEED_SIMD must be scalar, avx2 or avx512, got " + std::string(name) +
         "; all vector instructions of the processor are used";
}

SimdLevel level_of_environment() {
  const std::string problem = problem_of_environment();
  if (!problem.empty()) {
    std::fprintf(stderr, "torchfeed: %s\n", problem.c_str());
  }
  return simd_level_named(name_in_environment()).value_or(SimdLevel::kAvx512);
}

std::string name_of_level_in_use() {
  if (simd_level() == SimdLevel::kScalar) {
    return "scalar";
  }
#ifdef __x86_64__
  if (simd_level() >= SimdLevel::kAvx512 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vbmi") != 0) {
    return "avx512";
  }
  return __builtin_cpu_supports("avx2") != 0 ? "avx2" : "scalar";
#else
  return "neon";
#endif
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

std::string described_simd_level() {
  const std::string problem = problem_of_environment();
  return name_of_level_in_use() + (problem.empty() ? "" : ": " + problem);
}

}  // namespace torchfeed
