// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace torchfeed {

/// A source of random 32-bit words, and the numbers that torch makes of its generator's words: with
/// the words of `torch.manual_seed`, draws equal torch's. Not thread-safe.
class RandomWords {
 public:
  RandomWords() = default;
  RandomWords(const RandomWords&) = delete;
  RandomWords& operator=(const RandomWords&) = delete;
  virtual ~RandomWords() = default;

  /// Returns the next word.
  virtual uint32_t next() = 0;

  /// Returns a multiple of 2^-24 in [0, 1), of one word.
  float unit();
  /// Returns a number in [low, high], of one word. The product and the sum are rounded once, as in
  /// torch's `uniform_` where the processor has fused multiply-adds.
  float uniform(float low, float high);
  /// Returns a multiple of 2^-53 in [0, 1), of two words.
  double wide_unit();
  /// Returns a number in [0, range), of one word.
  ///
  /// @param range  from 1 to 2^28, from where on torch would use two words
  int64_t below(int64_t range);

  /// Returns the numbers below `N` in random order, of `N - 1` words, as `torch.randperm`.
  template <size_t N>
  std::array<uint8_t, N> order();
};

/// torchfeed's own words for one sample in one epoch: a function of seed, epoch, index and stream
/// alone.
///
/// The stream is SplitMix64 (Steele, Lea, Flood 2014), the one of Java's `SampleRandom`, which
/// `SampleWriter.random()` returns. With `mix` its finaliser and `G` = 0x9e3779b97f4a7c15, it
/// starts at `mix(mix(mix(seed + G) ^ (epoch + G)) ^ (index + G))`; each word adds `G` to the state
/// and is the upper half of `mix(state)`, as Java's `RandomGenerator.nextInt()`. Stream 0 starts
/// there, stream `n` at `mix(start ^ (n + G))`, so that steps of one sample do not share words.
class SampleWords final : public RandomWords {
 public:
  SampleWords(int64_t seed, int64_t epoch, int64_t index, int64_t stream = 0);
  uint32_t next() override;

 private:
  uint64_t state_;
};

template <size_t N>
std::array<uint8_t, N> RandomWords::order() {
  std::array<uint8_t, N> numbers;
  for (size_t i = 0; i < N; ++i) {
    numbers[i] = static_cast<uint8_t>(i);
  }
  for (size_t i = 0; i + 1 < N; ++i) {
    std::swap(numbers[i], numbers[i + next() % (N - i)]);
  }
  return numbers;
}

}  // namespace torchfeed
