// SPDX-License-Identifier: Apache-2.0
#include "core/min_max_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace torchfeed {
namespace {

using Floats = std::vector<float>;

constexpr std::ptrdiff_t kHeader = 32;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<uint8_t> encoded(const Floats& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  std::vector<uint8_t> code(static_cast<size_t>(min_max_code_bytes(count)), 77);
  encode_min_max(numbers.data(), count, code.data());
  return code;
}

Floats decoded(const std::vector<uint8_t>& code, size_t count) {
  Floats numbers(count);
  decode_min_max(code.data(), static_cast<int64_t>(count), numbers.data());
  return numbers;
}

Floats there_and_back(const Floats& numbers) { return decoded(encoded(numbers), numbers.size()); }

struct Example {
  Floats numbers;
  std::vector<int> codes;
  Floats back;
};

/// Computed with NumPy by Bagua's formula, but the -1 that it gives at the end is 0.
TEST(MinMaxCode, EqualsBaguas) {
  const std::vector<Example> examples = {
      {{-1, -0.5F, 0, 0.25F, 1, 2},
       {0, 43, 85, 106, 170, 255},
       {-1, -0.49411765F, 0, 0.24705882F, 1, 2}},
      {{0.1F, 0.2F, 0.3F, 0.4F},
       {0, 85, 170, 255},
       {0.10000004F, 0.20000008F, 0.3000001F, 0.40000015F}},
      {{0, 0, 0, 0}, {255, 255, 255, 255}, {0, 0, 0, 0}},
      {{0.5F, 0.5F, 0.5F, 0.5F}, {0, 0, 0, 0}, {0.4999999F, 0.4999999F, 0.4999999F, 0.4999999F}},
      {{1e-9F, 2e-9F, 3e-9F}, {249, 252, 255}, {8e-10F, 2e-9F, 3.2e-9F}},
      {{2.0078125F, 5.9921875F}, {0, 255}, {2.015625F, 6}},
  };
  for (const auto& [numbers, codes, back] : examples) {
    const auto code = encoded(numbers);
    EXPECT_EQ(codes, std::vector<int>(code.begin() + kHeader,
                                      code.begin() + kHeader + std::ssize(numbers)));
    EXPECT_EQ(back, there_and_back(numbers));
  }
}

TEST(MinMaxCode, BeginsWithTheExtremesAndIsPaddedWithZeros) {
  EXPECT_EQ(32, min_max_code_bytes(0));
  EXPECT_EQ(64, min_max_code_bytes(1));
  EXPECT_EQ(64, min_max_code_bytes(32));
  EXPECT_EQ(96, min_max_code_bytes(33));
  const auto code = encoded({3, -2, 1});
  Floats extremes(2);
  std::memcpy(extremes.data(), code.data(), 8);
  EXPECT_EQ(Floats({-2, 3}), extremes);
  EXPECT_TRUE(std::all_of(code.begin() + 8, code.begin() + 32, [](int b) { return b == 0; }));
  EXPECT_TRUE(std::all_of(code.begin() + 35, code.end(), [](int b) { return b == 0; }));
  EXPECT_EQ(std::vector<uint8_t>(32, 0), encoded({}));
}

/// The formula as Bagua writes it, one number at a time.
Floats slowly(const Floats& numbers) {
  const auto [min, max] = std::minmax_element(numbers.begin(), numbers.end());
  const auto scale = static_cast<float>(255.0 / static_cast<double>((*max - *min) + 1e-7F));
  const float upper = std::rint(*max * scale);
  const float lower = upper - 255;
  Floats back;
  for (const float number : numbers) {
    const float code = std::max(0.F, std::min(std::rint(number * scale), upper) - lower);
    back.push_back((static_cast<float>(static_cast<int>(code) % 256) + lower) / scale);
  }
  return back;
}

TEST(MinMaxCode, EqualsTheSlowFormulaForAnyLengthAndRange) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const double spread = std::pow(10., static_cast<double>(random() % 16) - 8);
    std::normal_distribution<double> normal(static_cast<double>(random() % 3) * spread, spread);
    Floats numbers(1 + random() % 100);
    for (auto& number : numbers) {
      number = static_cast<float>(normal(random));
    }
    if (round % 3 == 0) {  // a grid, where ties are rounded
      for (auto& number : numbers) {
        number = static_cast<float>(static_cast<int>(random() % 512)) / 128;
      }
    }
    EXPECT_EQ(slowly(numbers), there_and_back(numbers)) << round;
  }
}

TEST(MinMaxCode, IsWithinHalfALevel) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  Floats numbers(1000);
  std::generate(numbers.begin(), numbers.end(), [&] { return normal(random); });
  const auto [min, max] = std::minmax_element(numbers.begin(), numbers.end());
  const auto back = there_and_back(numbers);
  for (size_t i = 0; i < numbers.size(); ++i) {
    // Shifted by the rounding of the largest number to a level, at most half of one as well.
    EXPECT_NEAR(numbers[i], back[i], (*max - *min) / 255 * 1.001);
  }
}

TEST(MinMaxCode, OneNumberThatIsNotFiniteMakesAllNaN) {
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    for (const size_t place : std::vector<size_t>{0, 5, 16, 39}) {
      Floats numbers(40, 1);
      numbers[place] = bad;
      for (const float number : there_and_back(numbers)) {
        EXPECT_TRUE(std::isnan(number));
      }
    }
  }
}

TEST(MinMaxCode, HugeNumbersDoNotBecomeOrdinaryOnes) {
  for (const Floats& numbers : {Floats{-3e38F, 3e38F}, Floats{3e38F, 3e38F}}) {
    for (const float number : there_and_back(numbers)) {
      EXPECT_FALSE(std::isfinite(number));
    }
  }
}

TEST(MinMaxCode, CanBeAdded) {
  Floats sum = {10, 20, 30};
  const auto code = encoded({-1, 0, 1});
  const auto back = decoded(code, 3);
  decode_min_max_onto(code.data(), 3, sum.data());
  EXPECT_EQ(Floats({10 + back[0], 20 + back[1], 30 + back[2]}), sum);
}

}  // namespace
}  // namespace torchfeed
