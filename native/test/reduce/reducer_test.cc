// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/reducer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "group/rank_threads.h"
#include "reduce/reducer_models.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

using testing::Exchange;
using testing::expect_error;
using testing::Model;
using testing::on_ranks;
using testing::rows;
using testing::small_buckets;
using testing::Tasks;

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
    (void)GradientReducer::create(*group, "w\n", {at::ones({2})}, "", {}, small_buckets());
  });
}

TEST(GradientReducer, ASharedParameterIsReducedOnce) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const at::Tensor shared = at::ones({2}).requires_grad_(true);
    const auto reducer =
        GradientReducer::create(group, "a\nb\n", {shared, shared}, "", {}, small_buckets());
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

TEST(GradientReducer, BuffersAreCopiedBeforeAForwardThatFollowsASynchronizedOne) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    auto options = small_buckets();
    options.buffer_mode = ReducerOptions::kBeforeForward;
    const Model model;
    const auto reducer = model.reduce(group, options);
    at::Tensor mean = model.mean;
    const auto own = static_cast<double>(group.rank());
    const auto copied = [&] {
      mean.fill_(own);
      reducer->before_forward();
      const bool result = mean[0].item<double>() == 0;
      mean.fill_(0);
      return result || group.rank() == 0;
    };
    EXPECT_TRUE(copied());
    mean.fill_(own);
    reducer->backward(model.loss(rows(0, 4)));
    EXPECT_EQ(own, mean[0].item<double>());
    reducer->set_synchronized(false);
    EXPECT_TRUE(copied());
    EXPECT_EQ(group.rank() == 0, copied());
    reducer->set_synchronized(true);
    EXPECT_EQ(group.rank() == 0, copied());
    {
      const at::NoGradGuard evaluation;
      EXPECT_EQ(group.rank() == 0, copied());
    }
    EXPECT_TRUE(copied());
  });
}

TEST(GradientReducer, BuffersMayBeCopiedOnRequestOnlyOrNotEvenAtTheStart) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    auto options = small_buckets();
    options.buffer_mode = ReducerOptions::kOff;
    const Model model(6, 1. + static_cast<double>(group.rank()));
    (void)model.reduce(group, options);
    EXPECT_EQ(1. + static_cast<double>(group.rank()), model.mean[0].item<double>());
    options.buffer_mode = ReducerOptions::kOnRequest;
    const auto reducer = model.reduce(group, options);
    at::Tensor mean = model.mean;
    EXPECT_EQ(1, mean[0].item<double>());
    mean.fill_(group.rank());
    reducer->before_forward();
    reducer->backward(model.loss(rows(0, 4)));
    EXPECT_EQ(static_cast<double>(group.rank()), mean[0].item<double>());
    reducer->broadcast_buffers();
    EXPECT_EQ(0, mean[0].item<double>());
  });
}

TEST(GradientReducer, BucketsAreFormedInTheOrderOfTheFirstGradients) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model;
    const auto reducer = model.reduce(group);
    EXPECT_EQ(1, reducer->bucket_count());
    EXPECT_EQ("first\nsecond\n", reducer->bucket_parameters(0));
    reducer->backward(model.loss(rows(0, 4)));
    EXPECT_EQ(30 * 4, reducer->bucket_bytes(0));
    reducer->backward(model.loss(rows(0, 4)));
    ASSERT_EQ(1, reducer->bucket_count());
    EXPECT_EQ("second\nfirst\n", reducer->bucket_parameters(0));

    auto options = small_buckets();
    options.first_bucket_bytes = 24;
    const auto other = model.reduce(group, options);
    other->backward(model.loss(rows(0, 4)));
    other->before_forward();
    ASSERT_EQ(2, other->bucket_count());
    EXPECT_EQ("second\n", other->bucket_parameters(0));
    EXPECT_EQ("first\n", other->bucket_parameters(1));
    other->backward(model.loss(rows(0, 4)));
    other->backward(model.loss(rows(0, 4)));
    EXPECT_EQ(2, other->bucket_reductions(0));
    EXPECT_EQ(24, other->bucket_bytes(0));
    EXPECT_EQ(96, other->bucket_bytes(1));
    EXPECT_GT(other->bucket_nanos(1), 0);
    EXPECT_LE(other->overlapped_nanos(), other->communication_nanos());
    expect_error(ErrorCode::kInvalidArgument, "index must be in [0, 2), got 2",
                 [&] { (void)other->bucket_bytes(2); });
  });
}

TEST(GradientReducer, DifferentOptionsAreRefusedOnEveryRank) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    auto options = small_buckets();
    options.find_unused_parameters = group.rank() == 1;
    expect_error(ErrorCode::kInvalidArgument,
                 "rank 0 has findUnusedParameters false; rank 1 has findUnusedParameters true",
                 [&] { (void)Model().reduce(group, options); });
    options = small_buckets();
    options.bucket_bytes = 0;
    expect_error(ErrorCode::kInvalidArgument, "bucket sizes must be at least 1 byte",
                 [&] { (void)Model().reduce(group, options); });
    options = small_buckets();
    options.buffer_mode = 4;
    expect_error(ErrorCode::kInvalidArgument, "buffer_mode must be in [0, 4), got 4",
                 [&] { (void)Model().reduce(group, options); });
  });
}

TEST(GradientReducer, OneRankHasNoBucketsAndAcceptsAllOptions) {
  const auto group = ProcessGroup::adopt(0, 0, 1);
  ReducerOptions options;
  options.find_unused_parameters = true;
  options.gradient_as_bucket_view = true;
  const Tasks model;
  const auto reducer = model.reduce(*group, options);
  reducer->before_forward();
  reducer->backward(model.tasks[0].sum());
  EXPECT_FALSE(model.tasks[1].grad().defined());
  EXPECT_EQ(0, reducer->bucket_count());
  EXPECT_EQ(0, reducer->communication_nanos());
}

TEST(GradientReducer, AfterAFailureOnAllRanksTheModelCanBeWrappedAgain) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model;
    auto reducer = model.reduce(group);
    reducer->backward(model.loss(rows(0, 4)));
    expect_error(ErrorCode::kIllegalState, "parameter second (1 in total) received no gradient",
                 [&] { reducer->backward(model.first.sum()); });
    expect_error(ErrorCode::kIllegalState, "an earlier backward pass failed",
                 [&] { reducer->before_forward(); });
    reducer.reset();
    model.clear();
    reducer = model.reduce(group);
    const Model alone;
    alone.loss(rows(0, 8)).backward();
    reducer->backward(model.loss(rows(group.rank() * 4, 4)));
    EXPECT_TRUE(at::allclose(alone.first.grad(), model.first.grad(), 1.3e-6, 5e-5));
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
