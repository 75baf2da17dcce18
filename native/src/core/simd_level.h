// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace torchfeed {

/// Vector instructions, each with those before it.
enum class SimdLevel { kScalar, kAvx2, kAvx512 };

/// Returns the level with a name: `scalar`, `avx2` or `avx512`.
[[nodiscard]] std::optional<SimdLevel> simd_level_named(std::string_view name);

/// Returns the highest level that may be used where the processor has it: the one that the
/// environment variable `TORCHFEED_SIMD` names, otherwise all. It is read once; a wrong value is
/// one line on stderr. On 64-bit ARM, all levels but the first mean NEON.
[[nodiscard]] SimdLevel simd_level();

/// Returns the name of the level that is used on this processor, `neon` on ARM, and the problem of
/// `TORCHFEED_SIMD`, if it has one.
[[nodiscard]] std::string described_simd_level();

}  // namespace torchfeed
