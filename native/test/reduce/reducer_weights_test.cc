// SPDX-License-Identifier: Apache-2.0
// Gradients that are means weighted by the counts of all ranks.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "group/rank_threads.h"
#include "reduce/exchange_trainer.h"
#include "reduce/reducer_models.h"
#include "torchfeed/gradients.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::expect_same_on_all_ranks;
using testing::Kind;
using testing::Model;
using testing::numbers;
using testing::on_ranks;
using testing::options_of;
using testing::rows;
using testing::train;
using testing::Trainer;

constexpr std::array<double, 6> kWeights = {3, 1000, 0, 0.1, 12'345'679, 64};

double weight_of(int64_t rank, int64_t step) {
  return kWeights.at(static_cast<size_t>(rank + step) % kWeights.size());
}

ReducerOptions weighted(ReducerOptions options) {
  options.weighted_losses = true;
  return options;
}

TEST(WeightedLosses, EachExchangeThatTakesThemGivesTheMeanOverTheWeights) {
  for (const auto kind : {Kind::kAllReduce, Kind::kFloat16, Kind::kBFloat16}) {
    for (const int ranks : {1, 2, 3, 4}) {
      for (const int64_t node : {1, 2}) {
        if (ranks % node != 0) {
          continue;
        }
        auto options = weighted(options_of(kind, 64));
        options.exchange.ranks_per_node = node;
        train(ranks, options, {at::ones({5, 7}), at::ones({3})}, [&](Trainer& trainer) {
          for (int64_t step = 0; step < 6; ++step) {
            const auto weight = [&](int64_t rank) {  // numbers of float16 end at 65504
              const double any = weight_of(rank, step);
              return kind == Kind::kFloat16 ? std::min(any, 5000.) / 8 : any;
            };
            at::Tensor expected = at::zeros({5, 7}, at::kDouble);
            double sum = 0;
            for (int64_t rank = 0; rank < ranks; ++rank) {
              expected += numbers(rank, 35, step).view({5, 7}).to(at::kDouble) * weight(rank);
              sum += weight(rank);
            }
            expected = sum > 0 ? expected / sum : expected;
            const auto mine = trainer.rank();
            const auto got =
                trainer.step({numbers(mine, 35, step).view({5, 7}), at::ones({3})}, weight(mine));
            const double tolerance = kind == Kind::kAllReduce ? 2e-6 : 2e-2;
            EXPECT_TRUE(at::allclose(expected, got[0].to(at::kDouble), tolerance, tolerance))
                << "kind " << kind << ", ranks " << ranks << ", nodes of " << node << ", step "
                << step << '\n'
                << expected << got[0];
            EXPECT_NEAR(sum > 0 ? 1 : 0, got[1][2].item<double>(), tolerance);
            expect_same_on_all_ranks(trainer.group(), got[0]);
          }
        });
      }
    }
  }
}

TEST(WeightedLosses, ParametersOfAnyDtypeCarryTheWeightsExactly) {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    train(3, weighted(options_of(Kind::kAllReduce)), {at::ones({4}, dtype)}, [&](Trainer& trainer) {
      // One third each of 12345, 12346 and 12347: of a dtype of 16 bits, no sum is exact.
      const double mine = 12'345 + static_cast<double>(trainer.rank());
      const auto got = trainer.step({at::ones({4}, dtype)}, mine / 12'346);
      EXPECT_NEAR(1, got[0][1].item<double>(),
                  dtype == at::kFloat || dtype == at::kDouble ? 1e-6 : 1e-2);
    });
  }
}

TEST(WeightedLosses, TheyAddNoCollective) {
  for (const bool has_views : {false, true}) {
    std::array<size_t, 2> rounds{};
    std::array<int64_t, 2> buckets{};
    for (const bool is_weighted : {false, true}) {
      on_ranks(3, [&](ProcessGroup& group, testing::Exchange& exchange) {
        auto options = testing::small_buckets();
        options.weighted_losses = is_weighted;
        options.first_bucket_bytes = 16;
        options.bucket_bytes = 16;
        options.gradient_as_bucket_view = has_views;
        const Model model;
        const auto reducer = model.reduce(group, options);
        (void)group.barrier();
        const size_t before = exchange.rounds();
        for (int step = 0; step < 3; ++step) {
          model.clear();
          const auto loss = model.loss(rows(group.rank(), 4));
          if (is_weighted) {
            reducer->backward(loss, static_cast<double>(group.rank()) + 1);
          } else {
            reducer->backward(loss);
          }
        }
        (void)group.barrier();
        if (group.rank() == 0) {
          rounds.at(is_weighted ? 1 : 0) = exchange.rounds() - before;
          buckets.at(is_weighted ? 1 : 0) = reducer->bucket_count();
        }
      });
    }
    EXPECT_EQ(rounds[0], rounds[1]);
    EXPECT_EQ(2, buckets[1]);
    EXPECT_EQ(buckets[0], buckets[1]);
  }
}

TEST(WeightedLosses, WeightsOfAccumulatedBatchesAddUp) {
  for (const bool has_views : {false, true}) {
    on_ranks(2, [&](ProcessGroup& group, auto&) {
      auto options = weighted(testing::small_buckets());
      options.gradient_as_bucket_view = has_views;
      const Model model;
      const Model joint;
      const auto reducer = model.reduce(group, options);
      // Rank 0 has batches of 1 and 7 rows, rank 1 of 4 and 20.
      const std::array<std::array<int64_t, 2>, 2> counts = {{{1, 7}, {4, 20}}};
      for (int step = 0; step < 3; ++step) {
        model.clear();
        int64_t from = 0;
        for (int64_t rank = 0; rank < group.rank(); ++rank) {
          from += counts.at(static_cast<size_t>(rank))[0] + counts.at(static_cast<size_t>(rank))[1];
        }
        const auto& mine = counts.at(static_cast<size_t>(group.rank()));
        reducer->set_synchronized(false);
        reducer->backward(model.loss(rows(from, mine[0])), static_cast<double>(mine[0]));
        reducer->set_synchronized(true);
        if (step == 1) {
          reducer->set_synchronized(false);
          reducer->backward(model.loss(rows(from + mine[0], mine[1])),
                            static_cast<double>(mine[1]));
          reducer->backward(at::Tensor(), 0);
          reducer->set_synchronized(true);
          reducer->average_accumulated();
        } else {
          reducer->backward(model.loss(rows(from + mine[0], mine[1])),
                            static_cast<double>(mine[1]));
        }
        joint.clear();
        joint.loss(rows(0, 32)).backward();
        EXPECT_TRUE(at::allclose(joint.first.grad(), model.first.grad(), 1e-5, 1e-7));
        EXPECT_TRUE(at::allclose(joint.second.grad(), model.second.grad(), 1e-5, 1e-7));
      }
      // Weights of gradients that were cleared do not count.
      model.clear();
      reducer->set_synchronized(false);
      reducer->backward(model.loss(rows(40, 4)), 1000);
      reducer->set_synchronized(true);
      model.clear();
      reducer->backward(model.loss(rows(group.rank() == 0 ? 0 : 8, group.rank() == 0 ? 8 : 24)),
                        group.rank() == 0 ? 8 : 24);
      EXPECT_TRUE(at::allclose(joint.first.grad(), model.first.grad(), 1e-5, 1e-7));
    });
  }
}

TEST(WeightedLosses, ARankWithoutWeightContributesNothing) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model;
    const auto reducer = model.reduce(group, weighted(testing::small_buckets()));
    const auto nan = [&] { return model.loss(rows(0, 4)) * std::nan(""); };
    for (const bool is_all : {false, true}) {
      model.clear();
      const bool counts = group.rank() == 1 && !is_all;
      reducer->backward(counts ? model.loss(rows(0, 4)) : nan(), counts ? 4 : 0);
      const Model joint;
      joint.loss(rows(0, 4)).backward();
      const at::Tensor zeros = at::zeros_like(joint.first);
      EXPECT_TRUE(at::allclose(is_all ? zeros : joint.first.grad(), model.first.grad()));
    }
  });
}

TEST(WeightedLosses, RanksThatShadowOthersCountNothingWhateverTheDivisor) {
  for (const bool divides_by_active : {false, true}) {
    on_ranks(3, [&](ProcessGroup& group, auto&) {
      const Model model;
      const auto reducer = model.reduce(group, weighted(testing::small_buckets()));
      const int64_t passes = 2 - group.rank();
      reducer->begin_uneven_inputs(passes, divides_by_active);
      for (int64_t pass = 0; pass < 2; ++pass) {
        if (pass < passes) {
          model.clear();
          reducer->backward(model.loss(rows(8 * group.rank(), 8 + 2 * group.rank())),
                            static_cast<double>(8 + 2 * group.rank()));
        } else {
          EXPECT_TRUE(reducer->shadow());
        }
        const Model joint;
        joint.loss(rows(0, pass == 0 ? 18 : 8)).backward();
        EXPECT_TRUE(at::allclose(joint.first.grad(), model.first.grad(), 1e-5, 1e-7));
      }
      EXPECT_FALSE(reducer->shadow());
      reducer->end_uneven_inputs();
      model.clear();
      reducer->backward(model.loss(rows(10 * group.rank(), 10)), 10);
      const Model joint;
      joint.loss(rows(0, 30)).backward();
      EXPECT_TRUE(at::allclose(joint.first.grad(), model.first.grad(), 1e-5, 1e-7));
    });
  }
}

TEST(WeightedLosses, UnusedAndStaticParametersAreDividedToo) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    ReducerOptions options;
    options.find_unused_parameters = true;
    const testing::Tasks model;
    const auto reducer = model.reduce(group, weighted(options));
    const auto mine = static_cast<size_t>(group.rank());
    reducer->backward((model.tasks[mine] * 4).sum(), group.rank() == 0 ? 3 : 1);
    EXPECT_EQ(3, model.gradient(0));
    EXPECT_EQ(1, model.gradient(1));
    EXPECT_FALSE(model.tasks[2].grad().defined());
    for (auto task : model.tasks) {
      task.mutable_grad().reset();
    }
    reducer->backward((model.tasks[mine] * 4).sum(), group.rank() == 0 ? 3 : 0);
    EXPECT_EQ(4, model.gradient(0));
  });
  on_ranks(2, [](ProcessGroup& group, auto&) {
    ReducerOptions options;
    options.static_graph = true;
    const testing::Tasks model;
    const auto reducer = model.reduce(group, weighted(options));
    expect_error(ErrorCode::kIllegalState, "needs a weight above 0",
                 [&] { reducer->backward(model.tasks[0].sum(), 0); });
    for (int step = 0; step < 3; ++step) {
      for (auto task : model.tasks) {
        task.mutable_grad().reset();
      }
      const double mine = 1 + static_cast<double>(group.rank());
      reducer->backward((model.tasks[0] * mine + model.tasks[1]).sum(), mine);
      EXPECT_NEAR(5. / 3, model.gradient(0), 1e-6);
      EXPECT_NEAR(1, model.gradient(1), 1e-6);
    }
  });
}

TEST(WeightedLosses, MisuseIsRefused) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model;
    {
      const auto plain = model.reduce(group);
      expect_error(ErrorCode::kIllegalState, "withWeightedLosses(true)",
                   [&] { plain->backward(model.loss(rows(0, 4)), 1); });
    }
    const auto reducer = model.reduce(group, weighted(testing::small_buckets()));
    for (const double weight : {-1., std::nan(""), std::numeric_limits<double>::infinity(), 1e39}) {
      expect_error(ErrorCode::kInvalidArgument, "weight must be a finite number of at least 0",
                   [&] { reducer->backward(model.loss(rows(0, 4)), weight); });
    }
    expect_error(ErrorCode::kInvalidArgument, "at most 65504 for a loss of float16, got 65505",
                 [&] { reducer->backward(model.loss(rows(0, 4)).to(at::kHalf), 65'505); });
    expect_error(ErrorCode::kIllegalState, "each backward pass needs a weight",
                 [&] { reducer->backward(model.loss(rows(0, 4))); });
    EXPECT_ANY_THROW(model.loss(rows(0, 4)).backward());
    model.clear();  // the reducer is still usable
    reducer->backward(model.loss(rows(0, 4)), 4);
    EXPECT_EQ(1, reducer->reductions());
    for (const auto kind : {Kind::kByteGrad, Kind::kPowerSgd, Kind::kQAdam}) {
      auto options = weighted(testing::small_buckets());
      options.exchange.kind = kind;
      expect_error(ErrorCode::kInvalidArgument, "weighted losses need the exchange allReduce",
                   [&] { (void)model.reduce(group, options); });
    }
    expect_error(ErrorCode::kInvalidArgument, "weightedLosses true", [&] {
      auto options = testing::small_buckets();
      options.weighted_losses = group.rank() == 1;
      (void)model.reduce(group, options);
    });
  });
}

TEST(WeightedLosses, PythonRanksAndSparseGradientsAloneAreRefused) {
  testing::on_gloo(
      2,
      [](ProcessGroup& group) {
        auto options = weighted(testing::small_buckets());
        options.buffer_mode = ReducerOptions::kOff;
        expect_error(ErrorCode::kInvalidArgument, "with Python ranks, losses have no weights",
                     [&] { (void)Model().reduce(group, options); });
      },
      60'000, /*has_python_ranks=*/true);
  on_ranks(2, [](ProcessGroup& group, auto&) {
    auto options = weighted(ReducerOptions());
    options.sparse_names = "table\n";
    const at::Tensor table = at::zeros({4, 2}).requires_grad_(true);
    expect_error(ErrorCode::kInvalidArgument, "parameter table has others", [&] {
      (void)GradientReducer::create(group, "table\n", {table}, "", {}, options);
    });
  });
}

TEST(Gradients, AreClippedByTheNormOfAll) {
  const std::vector<at::Tensor> parameters = {
      at::zeros({100, 301}).requires_grad_(true), at::zeros({7}, at::kDouble).requires_grad_(true),
      at::zeros({5}, at::kBFloat16).requires_grad_(true), at::zeros({3}).requires_grad_(true)};
  double squares = 0;
  for (size_t i = 0; i < 3; ++i) {
    at::Tensor gradient =
        numbers(static_cast<int64_t>(i), parameters[i].numel()).to(parameters[i].scalar_type());
    squares += gradient.to(at::kDouble).square().sum().item<double>();
    parameters[i].mutable_grad() = gradient.reshape(parameters[i].sizes());
  }
  const double norm = std::sqrt(squares);
  EXPECT_NEAR(norm, Gradients::clip(parameters, 2 * norm), 1e-9 * norm);
  EXPECT_NEAR(norm, Gradients::clip(parameters, std::numeric_limits<double>::infinity()),
              1e-9 * norm);
  const int threads = at::get_num_threads();
  at::set_num_threads(3);
  const double again = Gradients::clip({parameters[0], parameters[0]}, 1e9);
  at::set_num_threads(1);
  EXPECT_EQ(again, Gradients::clip({parameters[0]}, 1e9));
  at::set_num_threads(threads);
  EXPECT_NEAR(norm, Gradients::clip(parameters, 1), 1e-9 * norm);
  EXPECT_NEAR(1, Gradients::clip(parameters, 1), 1e-3);  // bfloat16 rounds
  parameters[1].mutable_grad()[3] = std::nan("");
  EXPECT_FALSE(std::isfinite(Gradients::clip(parameters, 0.5)));
  EXPECT_NEAR(1, Gradients::clip({parameters[0]}, 2), 1e-3);
  for (const double bad : {0., -1., std::nan("")}) {
    expect_error(ErrorCode::kInvalidArgument, "maxNorm must be above 0",
                 [&] { (void)Gradients::clip(parameters, bad); });
  }
  EXPECT_EQ(0, Gradients::clip({parameters[3]}, 1));
}

TEST(Gradients, OfEmbeddingsAreSummedBeforeTheNorm) {
  const at::Tensor table = at::zeros({4, 2}).requires_grad_(true);
  const at::Tensor rows = at::tensor({1, 1, 2}, at::kLong);
  table.mutable_grad() =
      at::sparse_coo_tensor(rows.unsqueeze(0), at::full({3, 2}, 2.), at::IntArrayRef({4, 2}));
  const double norm = std::sqrt(2 * (4. * 4 + 2 * 2));
  EXPECT_NEAR(norm, Gradients::clip({table}, 1), 1e-9);
  EXPECT_NEAR(1, Gradients::clip({table}, 2), 1e-5);
}

}  // namespace
}  // namespace torchfeed
