// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "reduce/exchange_trainer.h"

namespace torchfeed {
namespace {

using testing::Kind;
using testing::numbers;
using testing::options_of;
using testing::Tensors;
using testing::train;
using testing::Trainer;

/// Returns the results of five passes of rank 0.
///
/// @param overflow  added by rank 0 to a gradient in passes of its own between them; 0 for none
Tensors results_beside_overflows(int64_t warmup, double overflow) {
  auto options = options_of(Kind::kQAdam, 16);
  options.exchange.warmup_steps = warmup;
  Tensors results;
  train(2, options, {at::ones({6}), at::ones({5})}, [&](Trainer& trainer) {
    for (int64_t step = 0; step < 5; ++step) {
      const auto first = numbers(trainer.rank(), 6, step);
      const auto second = numbers(trainer.rank(), 5, step);
      if (overflow > 0 && step % 2 == 1) {  // after the first pass, which forms the buckets
        const auto got = trainer.step({first, second + (trainer.rank() == 0 ? overflow : 1)});
        EXPECT_FALSE(got[1].isfinite().any().item<bool>()) << step;
      }
      for (const auto& got : trainer.step({first, second})) {
        if (trainer.rank() == 0) {
          results.push_back(got);
        }
      }
    }
  });
  return results;
}

TEST(QAdam, APassThatOverflowsOnOneRankIsNotCountedAndLeavesTheMomentum) {
  for (const int64_t warmup : {0, 2, 10}) {
    const auto plain = results_beside_overflows(warmup, 0);
    for (const double overflow :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      const auto skipped = results_beside_overflows(warmup, overflow);
      for (size_t i = 0; i < plain.size(); ++i) {
        EXPECT_TRUE(at::equal(plain[i], skipped[i])) << i << " after " << warmup;
      }
    }
  }
}

TEST(QAdam, LossesOfAnotherScaleScaleTheMomentum) {
  auto options = options_of(Kind::kQAdam);
  options.exchange.warmup_steps = 1;
  const auto run = [&](const std::array<double, 4>& scales) {
    Tensors results;
    train(2, options, {at::ones({9})}, [&](Trainer& trainer) {
      for (size_t step = 0; step < scales.size(); ++step) {
        const double scale = scales.at(step);
        trainer.reducer().rescale_exchange(scale / (step == 0 ? 1 : scales.at(step - 1)));
        const auto mine = numbers(trainer.rank(), 9, static_cast<int64_t>(step));
        const auto got = trainer.step(mine * scale) / scale;
        if (trainer.rank() == 0) {
          results.push_back(got);
        }
      }
    });
    return results;
  };
  const auto plain = run({1, 1, 1, 1});
  const auto scaled = run({1 << 16, 1 << 15, 1 << 15, 1 << 17});
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(at::allclose(plain[i], scaled[i], 0, 1e-6)) << i;
  }
}

}  // namespace
}  // namespace torchfeed
