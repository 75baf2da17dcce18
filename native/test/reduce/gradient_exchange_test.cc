// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "group/rank_threads.h"
#include "reduce/exchange_trainer.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::expect_same_on_all_ranks;
using testing::in_bytes;
using testing::Kind;
using testing::mean_of;
using testing::numbers;
using testing::on_gloo;
using testing::options_of;
using testing::Tensors;
using testing::train;
using testing::Trainer;

TEST(GradientExchange, HalvesAreCastDividedAndSummed) {
  for (const auto& [kind, dtype] :
       {std::pair(Kind::kFloat16, at::kHalf), std::pair(Kind::kBFloat16, at::kBFloat16)}) {
    for (const int ranks : {2, 3, 4}) {
      train(ranks, options_of(kind, 64), {at::ones({5, 7}), at::ones({3})}, [&](Trainer& trainer) {
        for (int64_t step = 0; step < 4; ++step) {
          const auto mine = [&](int64_t rank) { return numbers(rank, 35, step).view({5, 7}); };
          const auto got = trainer.step({mine(trainer.rank()), at::ones({3})});
          const auto exact = mean_of(mine, ranks);
          EXPECT_TRUE(at::allclose(exact, got[0], 0, dtype == at::kHalf ? 2e-3 : 2e-2));
          EXPECT_TRUE(at::equal(got[0], got[0].to(dtype).to(at::kFloat)));
          if (ranks == 2) {  // whose sum has only one order
            EXPECT_TRUE(
                at::equal((mine(0).to(dtype) / 2 + mine(1).to(dtype) / 2).to(at::kFloat), got[0]));
          }
          expect_same_on_all_ranks(trainer.group(), got[0]);
        }
      });
    }
  }
}

TEST(GradientExchange, GradientsOfOtherDtypesAreCast) {
  for (const auto kind : {Kind::kFloat16, Kind::kByteGrad, Kind::kQAdam}) {
    train(2, options_of(kind), {at::ones({4}, at::kDouble)}, [&](Trainer& trainer) {
      const auto got = trainer.step(at::full({4}, 1. + static_cast<double>(trainer.rank())));
      EXPECT_EQ(at::kDouble, got.scalar_type());
      EXPECT_NEAR(kind == Kind::kQAdam ? 0.15 : 1.5, got[2].item<double>(), 1e-6);
    });
  }
}

TEST(ByteGrad, EqualsTheExampleOfTwoRanks) {
  train(2, options_of(Kind::kByteGrad), {at::ones({5})}, [](Trainer& trainer) {
    const std::array<at::Tensor, 2> gradients = {at::tensor({1.F, 2.F, 3.F, 4.F, -1.F}),
                                                 at::tensor({3.F, 0.F, 1.F, 0.F, 1.F})};
    const auto got = trainer.step(gradients.at(static_cast<size_t>(trainer.rank())));
    EXPECT_TRUE(at::equal(at::tensor({2.0039217F, 1.0019609F, 1.9999925F, 2.F, 0.F}), got)) << got;
    EXPECT_EQ(2 * 64, trainer.reducer().bucket_sent_bytes(0));
  });
}

TEST(ByteGrad, EqualsTheRuleInEachBucketAndOnEachRank) {
  for (const int ranks : {2, 3, 4}) {
    // Smaller than the number of ranks, no multiple of it, and long.
    const std::vector<int64_t> counts = {1, 50, 1000};
    Tensors like;
    for (const int64_t count : counts) {
      like.push_back(at::ones({count}));
    }
    train(ranks, options_of(Kind::kByteGrad, 1), like, [&](Trainer& trainer) {
      for (int64_t step = 0; step < 4; ++step) {
        Tensors mine;
        for (const int64_t count : counts) {
          mine.push_back(numbers(trainer.rank(), count, step));
        }
        const auto got = trainer.step(mine);
        EXPECT_EQ(step == 0 ? 1 : 3, trainer.reducer().bucket_count());
        for (size_t i = 0; i < counts.size(); ++i) {
          Tensors of_ranks;
          for (int64_t rank = 0; rank < ranks; ++rank) {
            of_ranks.push_back(numbers(rank, counts[i], step));
          }
          if (step > 0) {  // before, one bucket had all of them
            EXPECT_TRUE(at::equal(in_bytes(of_ranks), got[i]));
          }
          EXPECT_TRUE(at::allclose(at::stack(of_ranks).mean(0), got[i], 0, 0.02));
          expect_same_on_all_ranks(trainer.group(), got[i]);
        }
      }
    });
  }
}

TEST(ByteGrad, ANumberThatIsNotFiniteMakesItsChunkNaNOnAllRanks) {
  train(3, options_of(Kind::kByteGrad), {at::ones({6})}, [](Trainer& trainer) {
    at::Tensor mine = at::ones({6});
    if (trainer.rank() == 1) {
      mine[2] = std::numeric_limits<float>::infinity();
    }
    const auto got = trainer.step(mine);
    EXPECT_TRUE(at::equal(at::tensor({0, 0, 1, 1, 0, 0}).to(at::kBool), got.isnan())) << got;
  });
}

TEST(PowerSgd, AveragesMatricesOfRankOneAndSmallParameters) {
  auto options = options_of(Kind::kPowerSgd);
  options.exchange.warmup_steps = 2;
  for (const int ranks : {2, 3, 4}) {
    train(ranks, options, {at::ones({6, 4, 5}), at::ones({3})}, [&](Trainer& trainer) {
      const auto mine = [&](int64_t rank) {
        return at::outer(numbers(0, 6), numbers(1, 20)).view({6, 4, 5}) *
               (static_cast<double>(rank) + 1.5);
      };
      for (int64_t step = 0; step < 5; ++step) {
        const auto got = trainer.step({mine(trainer.rank()), numbers(trainer.rank(), 3, step)});
        EXPECT_TRUE(at::allclose(mean_of(mine, ranks), got[0], 1e-4, 1e-5)) << step;
        const auto small = [&](int64_t rank) { return numbers(rank, 3, step); };
        EXPECT_TRUE(at::allclose(mean_of(small, ranks), got[1], 1e-5, 1e-6));
        expect_same_on_all_ranks(trainer.group(), got[0]);
      }
      EXPECT_LT(trainer.reducer().bucket_sent_bytes(0), trainer.reducer().bucket_bytes(0));
    });
  }
}

/// Also from the first backward pass on, before the buckets are formed again.
TEST(PowerSgd, AddsWhatIsLeftOutToLaterGradientsOfTheSameParameter) {
  for (const bool feedback : {true, false}) {
    auto options = options_of(Kind::kPowerSgd, 400);
    options.exchange.error_feedback = feedback;
    train(2, options, {at::ones({10, 12}), at::ones({12, 10})}, [&](Trainer& trainer) {
      const auto first = [](int64_t rank) { return numbers(rank, 120).pow(3).view({10, 12}); };
      const auto second = [](int64_t rank) { return numbers(rank, 120).view({12, 10}) * 5; };
      Tensors sums = {at::zeros({10, 12}), at::zeros({12, 10})};
      constexpr int kSteps = 100;
      for (int step = 0; step < kSteps; ++step) {
        const auto got = trainer.step({first(trainer.rank()), second(trainer.rank())});
        sums[0] += got[0];
        sums[1] += got[1];
      }
      EXPECT_EQ(2, trainer.reducer().bucket_count());
      const auto error_of = [](const at::Tensor& exact, const at::Tensor& sum) {
        return ((sum / kSteps - exact).norm() / exact.norm()).item<double>();
      };
      for (const double error :
           {error_of(mean_of(first, 2), sums[0]), error_of(mean_of(second, 2), sums[1])}) {
        if (feedback) {
          EXPECT_LT(error, 0.1);
        } else {
          EXPECT_GT(error, 0.1);
        }
      }
    });
  }
}

TEST(PowerSgd, AGradientOfZerosRemainsSo) {
  for (const int64_t rank : {1, 2, 3}) {
    auto options = options_of(Kind::kPowerSgd);
    options.exchange.matrix_rank = rank;
    train(2, options, {at::ones({20, 20})}, [&](Trainer& trainer) {
      EXPECT_TRUE(at::equal(at::zeros({20, 20}), trainer.step(at::zeros({20, 20}))));
      const auto mine = [](int64_t of) { return numbers(of, 400).view({20, 20}); };
      EXPECT_TRUE(trainer.step(mine(trainer.rank())).isfinite().all().item<bool>());
    });
  }
}

/// The gradients of the example, whose numbers are from NumPy.
const std::array<std::array<float, 6>, 2> kExample = {{{1, 2, 1, 4, 1, 1}, {3, 0, 3, 0, 3, 1}}};

float momentum_after(Trainer& trainer, size_t pass) {
  return trainer.step(at::full({1}, kExample.at(static_cast<size_t>(trainer.rank())).at(pass)))
      .item<float>();
}

TEST(QAdam, GivesTheMomentumAfterTheWarmUp) {
  auto options = options_of(Kind::kQAdam);
  options.exchange.warmup_steps = 3;
  train(2, options, {at::ones({1})}, [](Trainer& trainer) {
    // The first three are means; the momentum after them is 0.452.
    const std::array<double, 6> expected = {2, 1, 2, 0.6068, 0.74612, 0.771508};
    for (size_t pass = 0; pass < expected.size(); ++pass) {
      EXPECT_NEAR(expected.at(pass), momentum_after(trainer, pass), 1e-6) << pass;
    }
  });
}

/// Bagua drops the gradient of the last pass of the warm-up, so that pass is left out here.
TEST(QAdam, LeadsToTheStepsOfBaguaWithoutThePassThatItDrops) {
  auto options = options_of(Kind::kQAdam);
  options.exchange.warmup_steps = 2;
  train(2, options, {at::ones({1})}, [](Trainer& trainer) {
    const std::array<double, 6> momenta = {0.2, 0.28, 0.28, 0.452, 0.6068, 0.64612};
    const std::array<double, 6> values = {-0.1,      -0.193218, -0.273242,
                                          -0.390759, -0.538847, -0.689775};
    double m = 0;
    double v = 0;
    double x = 0;
    for (size_t pass = 0; pass < momenta.size(); ++pass) {
      const double got = pass == 2 ? m : momentum_after(trainer, pass);
      if (pass < 2) {
        m = 0.9 * m + 0.1 * got;
        v = 0.999 * v + 0.001 * got * got;
      } else {
        m = got;
      }
      const auto k = static_cast<double>(pass + 1);
      x -= 0.1 / (1 - std::pow(0.9, k)) * m / (std::sqrt(v) / std::sqrt(1 - std::pow(0.999, k)));
      EXPECT_NEAR(momenta.at(pass), m, 1e-6) << pass;
      EXPECT_NEAR(values.at(pass), x, 2e-6) << pass;
    }
  });
}

TEST(QAdam, KeepsTheMomentumOfEachParameterWhenBucketsAreFormedAgain) {
  for (const int ranks : {2, 3, 4}) {
    auto options = options_of(Kind::kQAdam, 40);
    options.exchange.warmup_steps = 1;
    train(ranks, options, {at::ones({10}), at::ones({10})}, [&](Trainer& trainer) {
      Tensors expected = {at::zeros({10}), at::zeros({10})};
      for (int64_t step = 0; step < 6; ++step) {
        const auto first = [&](int64_t rank) { return numbers(rank, 10, step); };
        const auto second = [&](int64_t rank) { return numbers(rank, 10, step + 7) * 100; };
        const auto got = trainer.step({first(trainer.rank()), second(trainer.rank())});
        expected[0] = expected[0] * 0.9 + mean_of(first, ranks) * 0.1;
        expected[1] = expected[1] * 0.9 + mean_of(second, ranks) * 0.1;
        if (step > 0) {
          EXPECT_TRUE(at::allclose(expected[0], got[0], 0, 0.01)) << step;
          EXPECT_TRUE(at::allclose(expected[1], got[1], 0, 1.)) << step;
          expect_same_on_all_ranks(trainer.group(), got[1]);
        }
      }
      EXPECT_EQ(2, trainer.reducer().bucket_count());
    });
  }
}

TEST(GradientExchange, WorksWithTheOtherOptions) {
  for (int variant = 0; variant < 3; ++variant) {
    auto options = options_of(Kind::kFloat16, 16);
    options.find_unused_parameters = variant == 0;
    options.static_graph = variant == 1;
    options.gradient_as_bucket_view = variant == 2;
    train(2, options, {at::ones({6}), at::ones({6})}, [&](Trainer& trainer) {
      for (int64_t step = 0; step < 4; ++step) {
        const auto own = static_cast<double>(trainer.rank());
        const auto got = trainer.step({at::full({6}, own + 1), at::full({6}, 2 * own)});
        EXPECT_TRUE(at::equal(at::full({6}, 1.5), got[0]));
        EXPECT_TRUE(at::equal(at::full({6}, 1.), got[1]));
      }
      if (variant != 1) {
        trainer.reducer().set_synchronized(false);
        const auto alone = trainer.step({at::ones({6}) * trainer.rank(), at::ones({6})});
        EXPECT_TRUE(at::equal(at::ones({6}) * trainer.rank(), alone[0]));
      }
    });
  }
}

TEST(GradientExchange, OneRankKeepsItsGradients) {
  for (const auto kind : {Kind::kFloat16, Kind::kByteGrad, Kind::kPowerSgd, Kind::kQAdam}) {
    train(1, options_of(kind), {at::ones({4, 4})}, [](Trainer& trainer) {
      EXPECT_FALSE(trainer.reducer().needs_exchange_group());
      EXPECT_TRUE(at::equal(at::full({4, 4}, 0.1), trainer.step(at::full({4, 4}, 0.1))));
    });
  }
}

TEST(GradientExchange, CountsTheBytesThatARankSends) {
  for (const auto& [kind, bytes] :
       {std::pair(Kind::kAllReduce, 6000), std::pair(Kind::kFloat16, 3000),
        std::pair(Kind::kByteGrad, 6 * (32 + 256))}) {
    train(4, options_of(kind), {at::ones({1000})}, [&, bytes = bytes](Trainer& trainer) {
      trainer.step(at::ones({1000}));
      EXPECT_EQ(4000, trainer.reducer().bucket_bytes(0));
      EXPECT_EQ(bytes, trainer.reducer().bucket_sent_bytes(0));
      EXPECT_GT(trainer.reducer().bucket_nanos(0), 0);
    });
  }
}

TEST(GradientExchange, RefusesWhatItCannotExchange) {
  on_gloo(2, [](ProcessGroup& group) {
    const auto wrap = [&](const ReducerOptions& options, at::ScalarType dtype) {
      (void)GradientReducer::create(group, "p\n", {at::ones({4, 2}, dtype).requires_grad_(true)},
                                    "", {}, options);
    };
    auto options = options_of(Kind::kByteGrad);
    options.sparse_names = "p\n";
    expect_error(
        ErrorCode::kInvalidArgument,
        "parameter p has sparse gradients, which only the exchange allReduce without nodes "
        "takes, got byteGrad",
        [&] { wrap(options, at::kFloat); });
    expect_error(ErrorCode::kInvalidArgument,
                 "the exchange powerSgd takes no gradients of BFloat16, which parameter p has",
                 [&] { wrap(options_of(Kind::kPowerSgd), at::kBFloat16); });
    expect_error(ErrorCode::kInvalidArgument, "takes no gradients of ComplexFloat",
                 [&] { wrap(options_of(Kind::kFloat16), at::kComplexFloat); });
    expect_error(ErrorCode::kInvalidArgument, "kind must be in [0, 6), got 6",
                 [&] { wrap(options_of(Kind::kKindCount), at::kFloat); });
    options = options_of(Kind::kQAdam);
    options.exchange.beta1 = std::nan("");
    expect_error(ErrorCode::kInvalidArgument, "beta1 must be in [0, 1), got nan",
                 [&] { wrap(options, at::kFloat); });
    options = options_of(group.rank() == 0 ? Kind::kPowerSgd : Kind::kQAdam);
    expect_error(ErrorCode::kInvalidArgument,
                 "errorFeedback true, warmStart true, orthogonalizationEpsilon 0, "
                 "batchTensorsWithSameShape false, randomSeed 0); rank 1 has exchange "
                 "qAdam(warmupSteps 0, beta1 0.9)",
                 [&] { wrap(options, at::kFloat); });
  });
}

TEST(GradientExchange, NeedsAGroupOfItsOwnOnce) {
  on_gloo(2, [](ProcessGroup& group) {
    const at::Tensor parameter = at::ones({2}).requires_grad_(true);
    const auto reducer =
        GradientReducer::create(group, "p\n", {parameter}, "", {}, options_of(Kind::kFloat16));
    EXPECT_TRUE(reducer->needs_exchange_group());
    expect_error(ErrorCode::kIllegalState, "the exchange of gradients has no group yet",
                 [&] { reducer->backward(parameter.sum()); });
    const auto plain = GradientReducer::create(group, "p\n", {parameter}, "", {}, {});
    expect_error(ErrorCode::kIllegalState, "only an exchange without a group takes one",
                 [&] { plain->exchange_over(group); });
  });
}

TEST(GradientExchange, NothingIsLeftAlive) {
  const auto before = live_objects();
  train(2, options_of(Kind::kQAdam), {at::ones({4})},
        [](Trainer& trainer) { trainer.step(at::ones({4})); });
  EXPECT_EQ(before, live_objects());
}

}  // namespace
}  // namespace torchfeed
