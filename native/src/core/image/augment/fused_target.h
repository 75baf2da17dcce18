// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Loops with fused multiply-adds, which torch uses under AVX2 and on arm64. An x86-64 processor
/// without them takes the C library's function, which is exact but slow. So a loop is written once,
/// in functions with `TORCHFEED_INLINE`, and compiled twice: a caller with `TORCHFEED_FUSED_TARGET`
/// runs only where `runs_fused_target()`. Lambdas do not take part: they do not inherit the target.

#define TORCHFEED_INLINE [[gnu::always_inline]] inline

#if defined(__x86_64__) && !defined(__FMA__)
#define TORCHFEED_FUSED_TARGET [[gnu::target("avx2,fma")]]
#endif

namespace torchfeed {

/// Returns whether this processor has AVX2 and fused multiply-adds.
[[nodiscard]] bool runs_fused_target();

/// Makes `runs_fused_target` return false until it is called again with true: for tests.
void allow_fused_target(bool allowed);

}  // namespace torchfeed
