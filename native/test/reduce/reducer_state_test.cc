// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/reducer_state.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "group/rank_threads.h"
#include "reduce/exchange_trainer.h"
#include "reduce/reducer_models.h"
#include "torchfeed/reducer.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::Kind;
using testing::Model;
using testing::numbers;
using testing::on_ranks;
using testing::options_of;
using testing::rows;
using testing::small_buckets;
using testing::Tasks;
using testing::Tensors;
using testing::train;
using testing::Trainer;

TEST(ReducerStates, BucketsContinueInTheOrderOfTheFirstGradients) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    auto options = small_buckets();
    options.first_bucket_bytes = 24;
    const Model model;
    auto reducer = model.reduce(group, options);
    EXPECT_EQ("", reducer->state().buckets);
    reducer->backward(model.loss(rows(0, 4)));
    const ReducerState state = reducer->state();
    EXPECT_EQ("1\n0\n", state.buckets);
    EXPECT_EQ("", state.uses);

    const Model other;
    reducer = other.reduce(group, options);
    reducer->restore(state);
    reducer->backward(other.loss(rows(group.rank() * 4, 4)));
    ASSERT_EQ(2, reducer->bucket_count());
    EXPECT_EQ("second\n", reducer->bucket_parameters(0));
    const Model alone;
    alone.loss(rows(0, 8)).backward();
    EXPECT_TRUE(at::allclose(alone.first.grad(), other.first.grad(), 1.3e-6, 5e-5));
    expect_error(ErrorCode::kIllegalState, "before the first backward pass, got 1 passes",
                 [&] { reducer->restore(state); });
  });
}

void expect_static_graph_continues(const ProcessGroup& group) {
  ReducerOptions options;
  options.static_graph = true;
  const Tasks model;
  auto reducer = model.reduce(group, options);
  reducer->backward((model.tasks[0] + model.tasks[1]).sum());
  const ReducerState state = reducer->state();
  EXPECT_EQ("1 1 0 1 1 0 ", state.uses);

  const Tasks other;
  reducer = other.reduce(group, options);
  reducer->restore(state);
  expect_error(ErrorCode::kIllegalState,
               "parameter t1 (1 in total) received no gradient, but did in the first",
               [&] { reducer->backward(other.tasks[0].sum()); });
}

TEST(ReducerStates, AStaticGraphNeedsNoFirstPassAgain) {
  expect_static_graph_continues(*ProcessGroup::adopt(0, 0, 1));
  on_ranks(2, [](ProcessGroup& group, auto&) { expect_static_graph_continues(group); });
}

ReducerOptions low_rank() {
  auto options = options_of(Kind::kPowerSgd);
  options.exchange.warmup_steps = 1;
  options.exchange.min_compression_rate = 0.5;
  return options;
}

at::Tensor gradient(const Trainer& trainer, int64_t step) {
  return numbers(trainer.rank(), 48, step).reshape({8, 6});
}

TEST(ReducerStates, WhatAnExchangeKeepsContinuesBitForBit) {
  constexpr int64_t kStop = 3;
  constexpr int64_t kSteps = 6;
  const Tensors like = {at::ones({8, 6})};
  std::vector<ReducerState> states(2);
  std::vector<Tensors> expected(2);
  train(2, low_rank(), like, [&](Trainer& trainer) {
    const auto rank = static_cast<std::size_t>(trainer.rank());
    for (int64_t step = 0; step < kSteps; ++step) {
      if (step == kStop) {
        states[rank] = trainer.reducer().state();
      }
      expected[rank].push_back(trainer.step(gradient(trainer, step)));
    }
  });
  EXPECT_EQ(kStop, states[1].exchange_steps);
  EXPECT_NE("", states[1].names);
  train(2, low_rank(), like, [&](Trainer& trainer) {
    const auto rank = static_cast<std::size_t>(trainer.rank());
    trainer.reducer().restore(states[rank]);
    for (int64_t step = kStop; step < kSteps; ++step) {
      EXPECT_TRUE(at::equal(expected[rank][static_cast<std::size_t>(step)],
                            trainer.step(gradient(trainer, step))))
          << step;
    }
  });
}

TEST(ReducerStates, OneThatDoesNotFitIsRefusedAndChangesNothing) {
  const Tensors like = {at::ones({8, 6})};
  std::vector<at::Tensor> expected(2);
  std::vector<ReducerState> states(2);
  train(2, low_rank(), like, [&](Trainer& trainer) {
    const auto rank = static_cast<std::size_t>(trainer.rank());
    expected[rank] = trainer.step(gradient(trainer, 0));
    (void)trainer.step(gradient(trainer, 1));
    states[rank] = trainer.reducer().state();
  });
  train(2, low_rank(), like, [&](Trainer& trainer) {
    const auto rank = static_cast<std::size_t>(trainer.rank());
    const auto refuses = [&](const std::string& reason, auto&& change) {
      ReducerState state = states[rank];
      change(state);
      expect_error(ErrorCode::kInvalidArgument, "the state does not fit: " + reason,
                   [&] { trainer.reducer().restore(state); });
    };
    refuses("a bucket has no or twice the parameter 1", [](auto& s) { s.buckets = "1\n"; });
    refuses("a bucket must be numbers of parameters, got x", [](auto& s) { s.buckets = "x\n"; });
    refuses("uses must be two numbers per parameter", [](auto& s) { s.uses = "1 1"; });
    refuses("steps must be at least 0, got -1", [](auto& s) { s.exchange_steps = -1; });
    refuses("the exchange of gradients keeps", [](auto& s) { s.tensors.pop_back(); });
    refuses("the exchange of gradients keeps", [](auto& s) { s.tensors[0] = at::Tensor(); });
    refuses("the exchange of gradients keeps", [](auto& s) { s.tensors[0] = at::ones({1}); });
    EXPECT_TRUE(at::equal(expected[rank], trainer.step(gradient(trainer, 0))));
  });
}

}  // namespace
}  // namespace torchfeed
