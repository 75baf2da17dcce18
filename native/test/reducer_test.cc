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

/// Options with small buckets, so that a model has several.
ReducerOptions small_buckets() {
  ReducerOptions options;
  options.first_bucket_bytes = 64;
  options.bucket_bytes = 64;
  return options;
}

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

  [[nodiscard]] std::unique_ptr<GradientReducer> reduce(
      const ProcessGroup& group, const ReducerOptions& options = small_buckets()) const {
    return GradientReducer::create(group, "first\nsecond\n", {first, second}, "mean\n", {mean},
                                   options);
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

TEST(GradientReducer, GradientsAccumulateUntilASynchronizedBackward) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    for (const bool views : {false, true}) {
      auto options = small_buckets();
      options.gradient_as_bucket_view = views;
      const Model model;
      const Model alone;
      const auto reducer = model.reduce(group, options);
      for (int64_t round = 0; round < 3; ++round) {
        alone.clear();
        model.clear();
        for (int64_t micro = 0; micro < 3; ++micro) {
          reducer->set_synchronized(micro == 2);
          const int64_t from = round * 12 + micro * 4;
          const at::Tensor loss = model.loss(rows(from + group.rank() * 2, 2));
          if (micro == 0) {
            loss.backward();
          } else {
            reducer->backward(loss);
          }
          EXPECT_EQ(round + (micro == 2 ? 1 : 0), reducer->reductions());
          (alone.loss(rows(from, 2)) * 0.5).backward();
          (alone.loss(rows(from + 2, 2)) * 0.5).backward();
        }
        EXPECT_TRUE(at::allclose(alone.first.grad(), model.first.grad(), 1.3e-6, 1e-6));
        EXPECT_TRUE(at::allclose(alone.second.grad(), model.second.grad(), 1.3e-6, 1e-6));
      }
    }
  });
}

TEST(GradientReducer, AnUnsynchronizedBackwardMayMissParametersAndFail) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const Model model;
    const auto reducer = model.reduce(group);
    reducer->set_synchronized(false);
    EXPECT_FALSE(reducer->is_synchronized());
    reducer->backward(model.first.sum());
    expect_error(ErrorCode::kIllegalState, "the loss depends on no parameter",
                 [&] { reducer->backward(at::ones({1}).requires_grad_(true).sum()); });
    reducer->set_synchronized(true);
    reducer->backward(model.loss(rows(0, 4)));
    EXPECT_EQ(1, reducer->reductions());
  });
}

/// Three tasks: on rank 0 the loss depends on the first, on the others on the second.
struct Tasks {
  [[nodiscard]] std::unique_ptr<GradientReducer> reduce(const ProcessGroup& group,
                                                        const ReducerOptions& options) const {
    return GradientReducer::create(group, "t0\nt1\nt2\n", {tasks[0], tasks[1], tasks[2]}, "", {},
                                   options);
  }

  [[nodiscard]] double gradient(size_t task) const { return tasks[task].grad().item<double>(); }

  std::vector<at::Tensor> tasks = {at::ones({1}).requires_grad_(true),
                                   at::ones({1}).requires_grad_(true),
                                   at::ones({1}).requires_grad_(true)};
};

TEST(GradientReducer, UnusedParametersContributeNothingAndStayWithoutGradient) {
  for (const bool views : {false, true}) {
    on_ranks(2, [&](ProcessGroup& group, auto&) {
      ReducerOptions options;
      options.find_unused_parameters = true;
      options.gradient_as_bucket_view = views;
      const Tasks model;
      const auto reducer = model.reduce(group, options);
      const auto mine = static_cast<size_t>(group.rank());
      reducer->backward((model.tasks[mine] * 4).sum());
      EXPECT_EQ(2, model.gradient(0));
      EXPECT_EQ(2, model.gradient(1));
      EXPECT_FALSE(model.tasks[2].grad().defined());
      for (auto task : model.tasks) {
        task.mutable_grad().reset();
      }
      // The set changes, which libtorch's reducer reports to its logger, and backward is plain.
      (model.tasks[2] * 4 + model.tasks[mine] * 2).sum().backward();
      EXPECT_EQ(1, model.gradient(0));
      EXPECT_EQ(1, model.gradient(1));
      EXPECT_EQ(4, model.gradient(2));
      EXPECT_EQ(2, reducer->reductions());
    });
  }
}

TEST(GradientReducer, AParameterUsedOnlyWhileAccumulatingIsAveraged) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    ReducerOptions options;
    options.find_unused_parameters = true;
    const Tasks model;
    const auto reducer = model.reduce(group, options);
    reducer->set_synchronized(false);
    reducer->backward((model.tasks[0] * (group.rank() == 0 ? 2 : 6)).sum());
    EXPECT_EQ(group.rank() == 0 ? 2 : 6, model.gradient(0));
    reducer->set_synchronized(true);
    reducer->backward(model.tasks[1].sum());
    EXPECT_EQ(4, model.gradient(0));
    EXPECT_EQ(1, model.gradient(1));
    EXPECT_FALSE(model.tasks[2].grad().defined());
  });
}

TEST(GradientReducer, AStaticGraphNeverUsesOtherParameters) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    ReducerOptions options;
    options.static_graph = true;
    const Tasks model;
    auto reducer = model.reduce(group, options);
    expect_error(ErrorCode::kIllegalState, "only after its first backward pass",
                 [&] { reducer->set_synchronized(false); });
    for (int step = 0; step < 3; ++step) {
      for (auto task : model.tasks) {
        task.mutable_grad().reset();
      }
      reducer->backward(
          (model.tasks[0] * (1. + static_cast<double>(group.rank())) + model.tasks[1]).sum());
      EXPECT_EQ(1.5, model.gradient(0));
      EXPECT_FALSE(model.tasks[2].grad().defined());
    }
    expect_error(ErrorCode::kIllegalState,
                 "parameter t1 (1 in total) received no gradient, but did in the first",
                 [&] { reducer->backward(model.tasks[0].sum()); });
    reducer.reset();
    reducer = model.reduce(group, options);
    reducer->backward(model.tasks[0].sum());
    expect_error(ErrorCode::kIllegalState,
                 "parameter t1 received a gradient, but none in the first",
                 [&] { reducer->backward((model.tasks[0] + model.tasks[1]).sum()); });
  });
}

TEST(GradientReducer, GradientsMayBeViewsOfTheBuckets) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    ReducerOptions options;
    options.gradient_as_bucket_view = true;
    const Model model;
    const auto reducer = model.reduce(group, options);
    for (int64_t step = 0; step < 3; ++step) {
      const Model alone;
      alone.loss(rows(step * 8, 8)).backward();
      if (step > 0) {
        model.first.mutable_grad().zero_();
        model.second.mutable_grad().zero_();
      }
      reducer->backward(model.loss(rows(step * 8 + group.rank() * 4, 4)));
      EXPECT_TRUE(at::allclose(alone.first.grad(), model.first.grad(), 1.3e-6, 5e-5));
      EXPECT_TRUE(model.first.grad().is_alias_of(model.second.grad()));
    }
  });
}

TEST(GradientReducer, SparseGradientsAreAveraged) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    ReducerOptions options;
    options.sparse_names = "table\n";
    const at::Tensor table = at::arange(8, at::kFloat).reshape({4, 2}).requires_grad_(true);
    const at::Tensor dense = at::ones({2}).requires_grad_(true);
    const auto reducer =
        GradientReducer::create(group, "table\ndense\n", {table, dense}, "", {}, options);
    for (int step = 0; step < 3; ++step) {
      at::Tensor(table).mutable_grad().reset();
      const at::Tensor picked = at::embedding(table, at::full({2}, group.rank(), at::kLong), -1,
                                              /*scale_grad_by_freq=*/false, /*sparse=*/true);
      reducer->backward((picked * dense).sum());
      ASSERT_TRUE(table.grad().is_sparse());
      const at::Tensor expected = at::zeros({4, 2});
      expected.narrow(0, 0, 2).fill_(1);
      EXPECT_TRUE(at::equal(expected, table.grad().to_dense()));
    }
    EXPECT_EQ("table\n", reducer->bucket_parameters(0));
  });
}

/// The sum of the rows of two tables, so that both get the same gradient, in one memory.
at::Tensor sum_of_rows(const at::Tensor& words, const at::Tensor& bags, bool is_bag_first) {
  const at::Tensor row = at::arange(2, at::kLong);
  const auto word = [&] { return at::embedding(words, row, -1, false, /*sparse=*/true); };
  const auto bag = [&] {
    return std::get<0>(at::embedding_bag(bags, row, row, false, /*mode=*/0, /*sparse=*/true));
  };
  if (is_bag_first) {
    const at::Tensor first = bag();
    return first + word();
  }
  const at::Tensor first = word();
  return first + bag();
}

TEST(GradientReducer, SparseGradientsThatShareMemoryAreEachDividedOnce) {
  for (const int choice : {0, 1, 2, 3}) {
    on_ranks(2, [&](ProcessGroup& group, auto&) {
      const bool is_bag_first = choice % 2 == 1;
      ReducerOptions options;
      options.gradient_as_bucket_view = choice > 1;
      options.sparse_names = "words\nbags\n";
      const at::Tensor words = at::ones({4, 2}).requires_grad_(true);
      const at::Tensor bags = at::ones({4, 2}).requires_grad_(true);
      const auto reducer =
          GradientReducer::create(group, "words\nbags\n", {words, bags}, "", {}, options);
      const at::Tensor weights = at::full({2, 2}, 2. * static_cast<double>(group.rank()));
      for (int64_t step = 0; step < 3; ++step) {
        at::Tensor(words).mutable_grad().reset();
        at::Tensor(bags).mutable_grad().reset();
        reducer->backward((sum_of_rows(words, bags, is_bag_first) * weights).sum());
        const at::Tensor expected = at::zeros({4, 2});
        expected.narrow(0, 0, 2).fill_(1);
        EXPECT_TRUE(at::equal(expected, words.grad().to_dense())) << words.grad().to_dense();
        EXPECT_TRUE(at::equal(expected, bags.grad().to_dense())) << bags.grad().to_dense();
      }
    });
  }
}

TEST(GradientReducer, ASparseGradientThatTheCallerPassesIsNotChanged) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    ReducerOptions options;
    options.sparse_names = "table\n";
    const at::Tensor table = at::ones({4, 2}).requires_grad_(true);
    const auto reducer = GradientReducer::create(group, "table\n", {table}, "", {}, options);
    const at::Tensor rows = at::embedding(table, at::arange(2, at::kLong), -1, false, true);
    const at::Tensor gradient = at::ones({2, 2});
    rows.backward(gradient);
    EXPECT_TRUE(at::equal(at::ones({2, 2}), gradient));
  });
}

TEST(GradientReducer, DenseGradientsThatShareMemoryAreEachDividedOnce) {
  for (const bool is_view : {false, true}) {
    on_ranks(2, [&](ProcessGroup& group, auto&) {
      auto options = small_buckets();
      options.gradient_as_bucket_view = is_view;
      const at::Tensor first = at::ones({4, 2}).requires_grad_(true);
      const at::Tensor second = at::ones({8}).requires_grad_(true);
      const auto reducer =
          GradientReducer::create(group, "first\nsecond\n", {first, second}, "", {}, options);
      for (int64_t step = 0; step < 3; ++step) {
        for (at::Tensor parameter : {first, second}) {
          parameter.mutable_grad().reset();
        }
        const at::Tensor passed = at::full({2, 4}, 2. * static_cast<double>(group.rank()));
        (first.view({2, 4}) + second.view({2, 4})).backward(passed);
        EXPECT_TRUE(at::equal(at::ones({4, 2}), first.grad())) << first.grad();
        EXPECT_TRUE(at::equal(at::ones({8}), second.grad())) << second.grad();
        EXPECT_TRUE(
            at::equal(at::full_like(passed, 2. * static_cast<double>(group.rank())), passed))
            << passed;
      }
    });
  }
}

TEST(GradientReducer, DenseGradientsThatShareMemoryOnOneRankOnlyStayApart) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const at::Tensor first = at::ones({4, 2}).requires_grad_(true);
    const at::Tensor second = at::ones({8}).requires_grad_(true);
    const auto reducer =
        GradientReducer::create(group, "first\nsecond\n", {first, second}, "", {}, {});
    const double factor = group.rank() == 0 ? 1 : 3;
    const at::Tensor sum =
        group.rank() == 0 ? first.view({8}) + second.view({8}) : first.view({8}) + second * factor;
    sum.backward(at::ones({8}));
    EXPECT_TRUE(at::equal(at::ones({4, 2}), first.grad())) << first.grad();
    EXPECT_TRUE(at::equal(at::full({8}, 2.), second.grad())) << second.grad();
  });
}

TEST(GradientReducer, AnUnexpectedSparseGradientNamesItsParameter) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const at::Tensor table = at::ones({4, 2}).requires_grad_(true);
    const auto reducer = GradientReducer::create(group, "table\n", {table}, "", {}, {});
    expect_error(ErrorCode::kIllegalState, "the gradient of parameter table must be dense", [&] {
      reducer->backward(at::embedding(table, at::zeros({2}, at::kLong), -1, false, true).sum());
    });
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
