// SPDX-License-Identifier: Apache-2.0
#include "core/rows/row_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "core/rows/byte_values.h"
#include "core/rows/byte_values_avx2.h"
#include "core/rows/half_floats.h"
#include "core/simd_level.h"

namespace torchfeed {
namespace {

constexpr std::array kResults = {Element::kFloat32, Element::kFloat16, Element::kBFloat16};

std::size_t result_bytes_of(Element result) { return result == Element::kFloat32 ? 4 : 2; }

/// The table of a channel, computed element by element.
ByteResults results_of(Element result, float factor, ElementScale scale) {
  ByteResults made{factor, scale, 1 / scale.std, {}};
  std::array<float, kByteValues> floats{};
  std::array<uint16_t, kByteValues> halves{};
  for (std::size_t i = 0; i < kByteValues; ++i) {
    const float scaled = static_cast<float>(i) * factor;
    const float centerd = scaled - scale.mean;
    floats[i] = centerd / scale.std;
    halves[i] = result == Element::kFloat16 ? float16_of(floats[i]) : bfloat16_of(floats[i]);
  }
  if (result == Element::kFloat32) {
    std::memcpy(made.table.data(), floats.data(), sizeof(floats));
  } else {
    made.set_halves(halves);
  }
  return made;
}

std::vector<std::byte> mixed_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7);
  }
  return bytes;
}

TEST(ByteKernels, GiveTheBitsOfTheTableAndWriteNothingElse) {
  const std::vector<std::byte> source = mixed_bytes(400);
  for (const Element result : kResults) {
    const std::size_t bytes = result_bytes_of(result);
    const ByteResults channel = results_of(result, 1.0F / 255.0F, {0.1307F, 0.3081F});
    const std::vector<ByteKernel> kernels = byte_kernels(result);
    EXPECT_EQ("table", kernels.back().name);
    for (const ByteKernel& kernel : kernels) {
      for (const Stores stores : {Stores::kCached, Stores::kStreamed}) {
        for (const std::size_t count : {0, 1, 7, 15, 16, 63, 64, 65, 150, 300}) {
          for (const std::size_t from : {0, 1, 8, 33}) {
            std::vector<std::byte> wanted(400 * bytes, std::byte{0xAA});
            std::vector<std::byte> made = wanted;
            kernels.back().convert(wanted.data() + from * bytes, source.data() + from, count,
                                   channel, Stores::kCached);
            kernel.convert(made.data() + from * bytes, source.data() + from, count, channel,
                           stores);
            end_streaming();
            EXPECT_EQ(wanted, made) << kernel.name << ' ' << count << ' ' << from;
          }
        }
      }
    }
  }
}

TEST(ByteKernels, DivideExactlyForManyMeansAndDeviations) {
  std::size_t computed = 0;
  std::size_t all = 0;
  for (const Element result : kResults) {
    for (int i = 1; i <= 200; ++i) {
      const auto step = static_cast<float>(i);
      const float factor = i % 2 == 0 ? 1 : 1.0F / 255.0F;
      const ByteResults channel = results_of(result, factor, {step * 0.0049F, 0.7F / step});
      const ByteConversion exact = exact_kernel(result, {channel});
      computed += exact == byte_kernels(result).front().convert ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(computed, all - 2);  // the correction is that good
}

TEST(ByteKernels, ATableServesWhereTheCorrectionWouldNot) {
  for (const Element result : kResults) {
    ByteResults channel = results_of(result, 1, {0, 1});
    channel.reciprocal = 0.9F;
    const ByteConversion exact = exact_kernel(result, {results_of(result, 1, {0, 1}), channel});
    const std::vector<ByteKernel> kernels = byte_kernels(result);
    EXPECT_TRUE(exact == kernels.back().convert || kernels.front().name == "avx512");
    if (result == Element::kFloat32) {
      EXPECT_EQ(exact, kernels.back().convert);
    }
  }
}

TEST(HalfFloats, AreTheNearestAndEvenAtTies) {
  // By the definition: a float16 is `mantissa * 2^exponent`, in steps of 2^-24 at least.
  for (const float number : {0.0F, 1.0F, 0.333F, 65504.0F, 65519.9F, 6.1e-5F, 3.0e-8F, 2.98e-8F,
                             1.00048828125F, 1.00146484375F, 5.96e-8F, 1e-20F}) {
    const int exponent = std::max(number == 0 ? -14 : std::ilogb(number), -14);
    const double unit = std::ldexp(1, exponent - 10);
    const double nearest = std::nearbyint(number / unit);  // to even
    const auto wanted = static_cast<uint16_t>(nearest + (exponent + 14) * 1024);
    EXPECT_EQ(wanted, float16_of(number)) << number;
    EXPECT_EQ(wanted | 0x8000, float16_of(-number)) << number;
  }
  EXPECT_EQ(0x7C00, float16_of(65520));
  EXPECT_EQ(0xFC00, float16_of(-INFINITY));
  EXPECT_EQ(0x7E00, float16_of(NAN) & 0x7E00);
  EXPECT_EQ(0x3F80, bfloat16_of(1.00390625F));
  EXPECT_EQ(0x3F82, bfloat16_of(1.01171875F));
  EXPECT_EQ(0x7F80, bfloat16_of(INFINITY));
  EXPECT_EQ(0x7FC0, bfloat16_of(-NAN));
}

#ifdef TORCHFEED_BYTE_VALUES_AVX2
TEST(HalfFloats, EqualThoseOfTheProcessor) {
  if (!has_fused_conversions()) {
    GTEST_SKIP() << "the processor has no conversions to float16, or may not use them";
  }
  constexpr uint32_t kStride = 4099;  // a prime: all exponents, and mantissas of all kinds
  constexpr std::size_t kAtOnce = 1001;
  std::vector<float> numbers(kAtOnce);
  std::vector<uint16_t> made(kAtOnce);
  uint32_t bits = 0;
  for (int i = 0; i < 1050; ++i) {
    for (float& number : numbers) {
      number = std::bit_cast<float>(bits += kStride);
    }
    round_to_float16_avx2(made.data(), numbers.data(), kAtOnce);
    for (std::size_t j = 0; j < kAtOnce; ++j) {
      ASSERT_EQ(float16_of(numbers[j]), made[j]) << std::bit_cast<uint32_t>(numbers[j]);
    }
  }
}
#endif

}  // namespace
}  // namespace torchfeed
