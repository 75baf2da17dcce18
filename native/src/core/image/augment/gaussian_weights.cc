// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/gaussian_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace torchfeed {
namespace {

constexpr std::size_t kSumLanes = 8;  // floats in a register of AVX2

/// Returns `exp` of a number up to 0, with the polynomial of SLEEF's `expf8_u10`.
float exp_of(float number) {
  constexpr float kLeast = -104;  // less than half of the smallest float32 from here on
  constexpr float kPerDoubling = 1.44269504088896340736F;
  constexpr float kDoubling = 0.693145751953125F;  // ln 2 in two parts
  constexpr float kDoublingRest = 1.428606765330187045e-06F;
  constexpr std::array<float, 6> kPolynomial = {
      0.000198527617612853646278381F, 0.00139304355252534151077271F, 0.00833336077630519866943359F,
      0.0416664853692054748535156F,   0.166666671633720397949219F,   0.5F};
  if (number < kLeast) {
    return 0;
  }
  const float doublings = std::nearbyint(number * kPerDoubling);
  const float most = std::fma(doublings, -kDoubling, number);
  const float rest = std::fma(doublings, -kDoublingRest, most);
  float sum = 0;
  for (const float coefficient : kPolynomial) {
    sum = std::fma(sum, rest, coefficient);
  }
  return std::ldexp(1 + std::fma(rest * rest, sum, rest), static_cast<int>(doublings));
}

/// Adds in the order of torch's vectors: lane by lane, then half of the lanes to the other half.
float sum_of(const std::vector<float>& numbers) {
  if (numbers.size() < kSumLanes) {
    return std::accumulate(numbers.begin(), numbers.end(), 0.0F);
  }
  std::array<float, kSumLanes> lanes{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    lanes[i % kSumLanes] += numbers[i];
  }
  for (std::size_t half = kSumLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) {
      lanes[lane] += lanes[lane + half];
    }
  }
  return lanes[0];
}

}  // namespace

std::vector<float> gaussian_weights(int64_t kernel, double sigma) {
  const auto last = static_cast<float>(kernel - 1);
  const auto limit = static_cast<float>(static_cast<double>(kernel - 1) / (2 * std::sqrt(2.0)));
  const float step = kernel > 1 ? 2 * limit / last : 0;
  std::vector<float> weights;
  for (int64_t i = 0; i < kernel; ++i) {
    const auto place = static_cast<float>(i);
    const float point =
        i < kernel / 2 ? std::fma(step, place, -limit) : std::fma(-step, last - place, limit);
    const float share = point / static_cast<float>(sigma);
    weights.push_back(-(share * share));
  }
  const float max = *std::max_element(weights.begin(), weights.end());
  for (float& weight : weights) {
    weight = exp_of(weight - max);
  }
  const float scale = 1 / sum_of(weights);
  for (float& weight : weights) {
    weight *= scale;
  }
  return weights;
}

}  // namespace torchfeed
