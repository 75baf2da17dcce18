// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <tuple>

#include "group/rank_threads.h"
#include "reduce/reducer_models.h"
#include "torchfeed/reducer.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::Model;
using testing::on_ranks;
using testing::rows;
using testing::small_buckets;
using testing::Tasks;

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

}  // namespace
}  // namespace torchfeed
