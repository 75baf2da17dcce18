// SPDX-License-Identifier: Apache-2.0
#include "core/simd_level.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "core/image/augment/fused_target.h"
#include "core/image/scale/resample_kernels.h"

namespace torchfeed {
namespace {

TEST(SimdLevel, HasThreeNames) {
  EXPECT_EQ(SimdLevel::kScalar, simd_level_named("scalar"));
  EXPECT_EQ(SimdLevel::kAvx2, simd_level_named("avx2"));
  EXPECT_EQ(SimdLevel::kAvx512, simd_level_named("avx512"));
  for (const char* other : {"", "AVX2", "sse", "avx512 "}) {
    EXPECT_EQ(std::nullopt, simd_level_named(other)) << other;
  }
}

/// CTest runs the tests of pixels with each value of the variable, and so this one.
TEST(SimdLevel, KernelsAreThoseThatTheEnvironmentPermits) {
  const char* const variable = std::getenv("TORCHFEED_SIMD");
  const std::string level = variable == nullptr ? "" : variable;
  if (level == "scalar") {
    EXPECT_EQ(SimdLevel::kScalar, simd_level());
    EXPECT_EQ(1U, resample_kernels().size());
    EXPECT_FALSE(runs_fused_target());
  } else if (level == "avx2") {
    EXPECT_EQ(SimdLevel::kAvx2, simd_level());
    EXPECT_LE(resample_kernels().size(), 2U);
  } else {
    EXPECT_EQ(SimdLevel::kAvx512, simd_level());
  }
  EXPECT_EQ("plain", resample_kernels().back().name);
}

TEST(SimdLevelDeathTest, AWrongNameIsOneLine) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ::setenv("TORCHFEED_SIMD", "sse", 1);
        const bool is_all = simd_level() == SimdLevel::kAvx512 && simd_level() == simd_level();
        std::exit(is_all ? 0 : 1);
      },
      ::testing::ExitedWithCode(0),
      "^torchfeed: TORCHFEED_SIMD must be scalar, avx2 or avx512, got sse; all vector instructions "
      "of the processor are used\n$");
}

TEST(SimdLevel, IsDescribedByItsNameAndWhatIsWrongWithTheVariable) {
  const std::set<std::string> names = {"scalar", "avx2", "avx512", "neon"};
  EXPECT_EQ(1U, names.count(described_simd_level()));
  const char* const variable = std::getenv("TORCHFEED_SIMD");
  const std::string before = variable == nullptr ? "" : variable;
  ::setenv("TORCHFEED_SIMD", "sse", 1);
  const std::string text = described_simd_level();
  ::setenv("TORCHFEED_SIMD", before.c_str(), 1);
  EXPECT_NE(std::string::npos,
            text.find(": TORCHFEED_SIMD must be scalar, avx2 or avx512, got sse; all vector"))
      << text;
}

}  // namespace
}  // namespace torchfeed
