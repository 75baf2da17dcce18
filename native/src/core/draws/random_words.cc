// SPDX-License-Identifier: Apache-2.0
#include "core/draws/random_words.h"

#include <cmath>

namespace torchfeed {
namespace {

constexpr uint64_t kGamma = 0x9e3779b97f4a7c15;

uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace

float RandomWords::unit() { return static_cast<float>(next() & 0xffffffU) * 0x1p-24F; }

float RandomWords::uniform(float low, float high) { return std::fma(unit(), high - low, low); }

double RandomWords::wide_unit() {
  const uint64_t upper = next();
  const uint64_t word = upper << 32 | next();
  return static_cast<double>(word & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

int64_t RandomWords::below(int64_t range) { return next() % range; }

SampleWords::SampleWords(int64_t seed, int64_t epoch, int64_t index, int64_t stream)
    : state_(mix(
          mix(mix(static_cast<uint64_t>(seed) + kGamma) ^ (static_cast<uint64_t>(epoch) + kGamma)) ^
          (static_cast<uint64_t>(index) + kGamma))) {
  if (stream != 0) {
    state_ = mix(state_ ^ (static_cast<uint64_t>(stream) + kGamma));
  }
}

uint32_t SampleWords::next() {
  state_ += kGamma;
  return static_cast<uint32_t>(mix(state_) >> 32);
}

}  // namespace torchfeed
