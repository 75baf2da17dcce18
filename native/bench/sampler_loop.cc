// SPDX-License-Identifier: Apache-2.0
// Calls libtorch's DistributedRandomSampler from C++, with the loops of SamplerBenchmark.java;
// prints nanoseconds per index, as JSON.
#include <torch/data/samplers/distributed.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <vector>

namespace {

constexpr size_t kSize = 1'000'000;
constexpr size_t kRead = 8192;
constexpr int kRounds = 80;
constexpr int kWarmUp = 5;

double nanos_per_index(const std::vector<double>& seconds) {
  double sum = 0;
  for (size_t i = kWarmUp; i < seconds.size(); ++i) {
    sum += seconds[i];
  }
  return sum / static_cast<double>(seconds.size() - kWarmUp) * 1e9 / static_cast<double>(kSize);
}

template <class Body>
double seconds_of(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main() {
  torch::data::samplers::DistributedRandomSampler sampler(kSize, 1, 0);
  std::vector<double> shuffle;
  std::vector<double> fresh;
  std::vector<double> read;
  size_t sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    sampler.set_epoch(static_cast<size_t>(round));
    shuffle.push_back(seconds_of([&] { sampler.reset(); }));
    read.push_back(seconds_of([&] {
      while (const auto indices = sampler.next(kRead)) {
        sum += indices->back();
      }
    }));
    // Only a new sampler makes an epoch independent of the others.
    fresh.push_back(seconds_of([&] {
      torch::data::samplers::DistributedRandomSampler own(kSize, 1, 0);
      sum += (*own.next(1))[0];
    }));
  }
  std::cout << "{\"shuffle\": " << nanos_per_index(shuffle)
            << ", \"constructShuffle\": " << nanos_per_index(fresh)
            << ", \"read\": " << nanos_per_index(read) << ", \"sum\": " << sum << "}\n";
}
