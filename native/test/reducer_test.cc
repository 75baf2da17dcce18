// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/reducer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "rank_threads.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

using testing::Exchange;
using testing::expect_error;
using testing::on_ranks;

constexpr int64_t kSmall = 64;

/// Two layers, initialized without a random generator, so that threads do not affect each other.
struct Model {
  explicit Model(int64_t hidden = 6, double scale = 1)
      : first((at::arange(4 * hidden, at::kFloat).reshape({hidden, 4}) * 0.01 * scale)
                  .requires_grad_(true)),
        second((at::arange(hidden, at::kFloat) * 0.1 * scale).requires_grad_(true)),
        mean(at::full({3}, scale, at::kFloat)) {}

  [[nodiscard]] at::Tensor loss(const at::Tensor& rows) const {
    return at::matmul(at::tanh(at::matmul(rows, first.t())), second).pow(2).mean();
  }

  [[nodiscard]] std::unique_ptr<GradientReducer> reduce(const ProcessGroup& group) const {
    return GradientReducer::create(group, "first\nsecond\n", {first, second}, "mean\n", {mean},
                                   kSmall, kSmall);
  }

  void clear() const {
    first.mutable_grad().reset();
    second.mutable_grad().reset();
  }

  at::Tensor first;
  at::Tensor second;
  at::Tensor mean;
};

at::Tensor rows(int64_t from, int64_t count) {
  return at::sin(at::arange(200, at::kFloat).reshape({50, 4})).narrow(0, from, count);
}

TEST(GradientReducer, EveryRankStartsFromRankZero) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model(6, 1. + static_cast<double>(group.rank()));
    const auto reducer = model.reduce(group);
    EXPECT_TRUE(at::equal(Model().first, model.first));
    EXPECT_TRUE(at::equal(Model().mean, model.mean));
  });
}

TEST(GradientReducer, GradientsMatchTheCombinedBatchHoweverBackwardIsStarted) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model;
    const auto reducer = model.reduce(group);
    for (int64_t step = 0; step < 4; ++step) {
      const Model alone;
      alone.loss(rows(step * 8, 8)).backward();
      model.clear();
      const at::Tensor loss = model.loss(rows(step * 8 + group.rank() * 4, 4));
      if (step % 2 == 0) {
        reducer->backward(loss);
      } else {
        loss.backward();
      }
      EXPECT_TRUE(at::allclose(alone.first.grad(), model.first.grad(), 1.3e-6, 5e-5));
      EXPECT_TRUE(at::allclose(alone.second.grad(), model.second.grad(), 1.3e-6, 5e-5));
    }
    EXPECT_EQ(4, reducer->reductions());
    EXPECT_GT(reducer->reduction_nanos(), 0);
  });
}

TEST(GradientReducer, BuffersAreThoseOfRankZeroAfterEachBackward) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model;
    const auto reducer = model.reduce(group);
    at::Tensor mean = model.mean;
    mean.fill_(7 + group.rank());
    reducer->backward(model.loss(rows(0, 4)));
    EXPECT_TRUE(at::equal(at::full({3}, 7., at::kFloat), mean));
  });
}

TEST(GradientReducer, OneRankKeepsItsGradients) {
  const auto group = ProcessGroup::adopt(0, 0, 1);
  const Model model;
  const Model alone;
  const auto reducer = model.reduce(*group);
  reducer->backward(model.loss(rows(0, 4)));
  alone.loss(rows(0, 4)).backward();
  EXPECT_TRUE(at::equal(alone.first.grad(), model.first.grad()));
}

TEST(GradientReducer, ADifferentModelIsRefusedOnEveryRank) {
  on_ranks(3, [](ProcessGroup& group, auto&) {
    const Model model(group.rank() == 2 ? 5 : 6);
    expect_error(ErrorCode::kInvalidArgument,
                 "rank 0 has parameter first: Float [6, 4]; rank 2 has parameter first: Float "
                 "[5, 4]",
                 [&] { (void)model.reduce(group); });
    (void)Model().reduce(group);
  });
}

TEST(GradientReducer, AModelWithoutGradientsIsRefused) {
  const auto group = ProcessGroup::adopt(0, 0, 1);
  expect_error(ErrorCode::kInvalidArgument, "at least one parameter must require a gradient", [&] {
    (void)GradientReducer::create(*group, "w\n", {at::ones({2})}, "", {}, kSmall, kSmall);
  });
}

TEST(GradientReducer, ASharedParameterIsReducedOnce) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const at::Tensor shared = at::ones({2}).requires_grad_(true);
    const auto reducer =
        GradientReducer::create(group, "a\nb\n", {shared, shared}, "", {}, kSmall, kSmall);
    EXPECT_EQ(1, reducer->parameter_count());
    reducer->backward((shared * (1. + static_cast<double>(group.rank()))).sum());
    EXPECT_TRUE(at::equal(at::full({2}, 1.5), shared.grad()));
  });
}

TEST(GradientReducer, AnUnusedParameterIsNamedAndDisablesTheReducer) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model;
    const auto reducer = model.reduce(group);
    expect_error(ErrorCode::kIllegalState, "parameter second (1 in total) received no gradient",
                 [&] { reducer->backward(model.first.sum()); });
    expect_error(ErrorCode::kIllegalState, "an earlier backward pass failed: parameter second",
                 [&] { reducer->backward(model.loss(rows(0, 4))); });
    EXPECT_ANY_THROW(model.loss(rows(0, 4)).backward());
  });
}

TEST(GradientReducer, AnInvalidLossIsRefusedAndTheNextOneWorks) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model;
    const auto reducer = model.reduce(group);
    expect_error(ErrorCode::kInvalidArgument, "an undefined tensor",
                 [&] { reducer->backward(at::Tensor()); });
    expect_error(ErrorCode::kInvalidArgument, "with 2 elements",
                 [&] { reducer->backward(at::ones({2}).requires_grad_(true)); });
    expect_error(ErrorCode::kIllegalState, "the loss depends on no parameter",
                 [&] { reducer->backward(at::ones({1}).requires_grad_(true).sum()); });
    reducer->backward(model.loss(rows(0, 4)));
    EXPECT_EQ("", reducer->failure());
  });
}

TEST(GradientReducer, ALostPeerDisablesTheReducerButNotTheModel) {
  on_ranks(2, [](ProcessGroup& group, Exchange& exchange) {
    const Model model;
    auto reducer = model.reduce(group);
    reducer->backward(model.loss(rows(0, 4)));
    group.barrier();
    exchange.fail_with("Connection reset by peer");
    expect_error(ErrorCode::kPeerLost, "reset by peer",
                 [&] { reducer->backward(model.loss(rows(0, 4))); });
    expect_error(ErrorCode::kIllegalState, "an earlier backward pass failed: Connection reset",
                 [&] { reducer->backward(model.loss(rows(0, 4))); });
    reducer.reset();
    model.clear();
    model.loss(rows(0, 4)).backward();
    EXPECT_TRUE(model.first.grad().defined());
  });
}

TEST(GradientReducer, TheBytesOfAParameterAreInRowMajorOrder) {
  const auto group = ProcessGroup::adopt(0, 0, 1);
  const Model model;
  const auto reducer = model.reduce(*group);
  EXPECT_EQ("second", reducer->parameter_name(1));
  EXPECT_TRUE(at::equal(model.second.detach(), reducer->parameter_bytes(1).view(at::kFloat)));
  expect_error(ErrorCode::kInvalidArgument, "index must be in [0, 2), got 2",
               [&] { (void)reducer->parameter_name(2); });
}

TEST(GradientReducer, NothingIsLeftAlive) {
  const auto before = live_objects();
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model;
    model.reduce(group)->backward(model.loss(rows(0, 4)));
  });
  EXPECT_EQ(before, live_objects());
}

}  // namespace
}  // namespace torchfeed
