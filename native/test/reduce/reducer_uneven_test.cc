// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "group/gloo_threads.h"
#include "group/rank_threads.h"
#include "torchfeed/reducer.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::on_gloo;
using testing::on_ranks;

constexpr double kRate = 0.1;
constexpr double kMomentum = 0.9;

/// A model of two layers and an optimizer with momentum, as one rank has them.
struct Replica {
  [[nodiscard]] at::Tensor loss(int64_t rank, int64_t pass) const {
    const at::Tensor rows =
        at::sin(at::arange(8, at::kFloat).reshape({2, 4}) + 100. * static_cast<double>(rank) +
                10. * static_cast<double>(pass));
    return at::matmul(at::tanh(at::matmul(rows, first.t())), second).pow(2).mean();
  }

  [[nodiscard]] std::unique_ptr<GradientReducer> reduce(
      const ProcessGroup& group, const ReducerOptions& options = small_buckets()) const {
    return GradientReducer::create(group, "first\nsecond\nunused\n", {first, second, unused},
                                   "mean\n", {mean}, options);
  }

  static ReducerOptions small_buckets() {
    ReducerOptions options;
    options.first_bucket_bytes = 64;
    options.bucket_bytes = 64;
    options.find_unused_parameters = true;
    return options;
  }

  [[nodiscard]] std::vector<at::Tensor> parameters() const { return {first, second}; }

  void clear() const {
    for (const auto& parameter : parameters()) {
      parameter.mutable_grad().reset();
    }
  }

  void step() {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < moments.size(); ++i) {
      moments[i].mul_(kMomentum).add_(parameters()[i].grad());
      parameters()[i].sub_(moments[i] * kRate);
    }
    ++steps;
  }

  at::Tensor first = (at::arange(24, at::kFloat).reshape({6, 4}) * 0.01).requires_grad_(true);
  at::Tensor second = (at::arange(6, at::kFloat) * 0.1).requires_grad_(true);
  at::Tensor unused = at::ones({5}).requires_grad_(true);
  at::Tensor mean = at::zeros({3});
  std::vector<at::Tensor> moments = {at::zeros({6, 4}), at::zeros({6})};
  int64_t steps = 0;
};

/// Returns the replica that all ranks must have after `passes[r]` passes of each rank r.
Replica expected(const std::vector<int64_t>& passes, bool divides_by_active) {
  Replica replica;
  const auto ranks = static_cast<int64_t>(passes.size());
  for (int64_t pass = 0; pass < *std::max_element(passes.begin(), passes.end()); ++pass) {
    replica.clear();
    int64_t active = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      if (pass < passes[static_cast<size_t>(rank)]) {
        replica.loss(rank, pass).backward();
        ++active;
      }
    }
    for (const auto& parameter : replica.parameters()) {
      parameter.mutable_grad().div_(divides_by_active ? active : ranks);
    }
    replica.step();
  }
  return replica;
}

void train(GradientReducer& reducer, Replica& replica, int64_t rank, int64_t passes,
           bool announces) {
  for (int64_t pass = 0; pass < passes; ++pass) {
    if (announces) {
      reducer.announce();
    }
    replica.clear();
    replica.mean.fill_(10 * pass + rank);
    reducer.before_forward();
    reducer.backward(replica.loss(rank, pass));
    replica.step();
  }
  while (reducer.shadow()) {
    replica.step();
  }
}

struct Inputs {
  bool is_counted = true;
  bool divides_by_active = false;
  ReducerOptions options = Replica::small_buckets();
};

void expect_equal_replicas(const std::vector<int64_t>& passes, const Inputs& inputs) {
  const auto ranks = static_cast<int>(passes.size());
  std::vector<Replica> replicas(passes.size());
  on_ranks(ranks, [&](ProcessGroup& group, auto&) {
    const auto rank = static_cast<size_t>(group.rank());
    auto& replica = replicas[rank];
    const auto reducer = replica.reduce(group, inputs.options);
    reducer->begin_uneven_inputs(inputs.is_counted ? passes[rank] : -1, inputs.divides_by_active);
    train(*reducer, replica, group.rank(), passes[rank], !inputs.is_counted);
    reducer->end_uneven_inputs();
    EXPECT_EQ("", reducer->failure());
    EXPECT_FALSE(replica.unused.grad().defined());
  });
  const Replica one = expected(passes, inputs.divides_by_active);
  for (const auto& replica : replicas) {
    EXPECT_EQ(one.steps, replica.steps);
    EXPECT_TRUE(at::equal(replicas[0].first, replica.first));
    EXPECT_TRUE(at::equal(replicas[0].moments[0], replica.moments[0]));
    EXPECT_TRUE(at::equal(replicas[0].mean, replica.mean));
    EXPECT_TRUE(at::allclose(one.first, replica.first, 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(one.second, replica.second, 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(one.moments[1], replica.moments[1], 1e-5, 1e-6));
  }
}

/// Calls `body` with every list of `ranks` numbers in [0, limit].
void for_each_split(size_t ranks, int64_t limit,
                    const std::function<void(const std::vector<int64_t>&)>& body) {
  std::vector<int64_t> passes(ranks);
  while (true) {
    body(passes);
    size_t at = 0;
    while (at < ranks && ++passes[at] > limit) {
      passes[at++] = 0;
    }
    if (at == ranks) {
      return;
    }
  }
}

// Under a sanitizer, which need not see each number of passes, four ranks with up to 5 would take
// 90 s.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kMostPassesOfFour = 2;
#else
constexpr int64_t kMostPassesOfFour = 5;
#endif

TEST(UnevenInputs, EverySplitOverTwoRanksGivesEqualReplicas) {
  for_each_split(2, 5, [](const auto& passes) { expect_equal_replicas(passes, {}); });
}

TEST(UnevenInputs, EverySplitOverFourRanksGivesEqualReplicas) {
  for_each_split(4, kMostPassesOfFour,
                 [](const auto& passes) { expect_equal_replicas(passes, {}); });
}

TEST(UnevenInputs, RanksMayAnnounceTheirPasses) {
  for_each_split(3, 3, [](const auto& passes) { expect_equal_replicas(passes, {false}); });
}

TEST(UnevenInputs, SumsMayBeDividedByTheActiveRanks) {
  for_each_split(3, 2, [](const auto& passes) { expect_equal_replicas(passes, {true, true}); });
}

TEST(UnevenInputs, BuffersComeFromTheLowestRankWithInput) {
  for (const int mode : {ReducerOptions::kBeforeForward, ReducerOptions::kAfterBackward}) {
    for (const bool is_counted : {false, true}) {
      Inputs inputs{is_counted};
      inputs.options.buffer_mode = mode;
      for_each_split(2, 3, [&](const auto& passes) { expect_equal_replicas(passes, inputs); });
    }
  }
  on_ranks(3, [](ProcessGroup& group, auto&) {
    Replica replica;
    const auto reducer = replica.reduce(group);
    const std::vector<int64_t> passes = {1, 3, 2};
    reducer->begin_uneven_inputs(passes[static_cast<size_t>(group.rank())], false);
    train(*reducer, replica, group.rank(), passes[static_cast<size_t>(group.rank())], false);
    EXPECT_EQ(21, replica.mean[0].item<int64_t>());
  });
}

TEST(UnevenInputs, AllGradientsMayBeRequiredOrViewsOfBuckets) {
  for (const bool views : {false, true}) {
    on_ranks(2, [&](ProcessGroup& group, auto&) {
      ReducerOptions options;
      options.bucket_bytes = options.first_bucket_bytes = 64;
      options.gradient_as_bucket_view = views;
      Replica replica;
      const auto reducer =
          GradientReducer::create(group, "first\nsecond\n", replica.parameters(), "", {}, options);
      const int64_t passes = 1 + 2 * group.rank();
      reducer->begin_uneven_inputs(passes, false);
      train(*reducer, replica, group.rank(), passes, false);
      reducer->end_uneven_inputs();
      const Replica one = expected({1, 3}, false);
      EXPECT_TRUE(at::allclose(one.first, replica.first, 1e-5, 1e-6));
    });
  }
}

TEST(UnevenInputs, AStaticGraphIsRecordedFromInput) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    ReducerOptions options = Replica::small_buckets();
    options.find_unused_parameters = false;
    options.static_graph = true;
    Replica replica;
    const auto reducer = replica.reduce(group, options);
    expect_error(ErrorCode::kIllegalState, "every rank must have an input for the first",
                 [&] { reducer->begin_uneven_inputs(2 * group.rank(), false); });
    const int64_t passes = 1 + 2 * group.rank();
    reducer->begin_uneven_inputs(passes, false);
    train(*reducer, replica, group.rank(), passes, false);
    reducer->end_uneven_inputs();
    EXPECT_TRUE(at::allclose(expected({1, 3}, false).first, replica.first, 1e-5, 1e-6));
  });
}

TEST(UnevenInputs, SparseGradientsAreShadowed) {
  on_gloo(2, [](ProcessGroup& group) {  // refuses layouts that differ
    ReducerOptions options;
    options.sparse_names = "table\n";
    const at::Tensor table = at::arange(6, at::kFloat).reshape({3, 2}).requires_grad_(true);
    const auto reducer = GradientReducer::create(group, "table\n", {table}, "", {}, options);
    reducer->begin_uneven_inputs(group.rank(), false);
    const at::Tensor row = at::full({1}, 2, at::kLong);
    if (group.rank() == 1) {
      reducer->backward(at::embedding(table, row, -1, false, /*sparse=*/true).sum());
    } else {
      EXPECT_TRUE(reducer->shadow());
    }
    EXPECT_FALSE(reducer->shadow());
    at::Tensor mean = at::zeros({3, 2});
    mean.select(0, 2).fill_(0.5);
    EXPECT_TRUE(at::equal(mean, table.grad().to_dense()));
  });
}

TEST(UnevenInputs, AccumulatedPassesDoNotCount) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    Replica replica;
    const auto reducer = replica.reduce(group);
    const int64_t passes = 1 + group.rank();
    reducer->begin_uneven_inputs(passes, false);
    for (int64_t pass = 0; pass < passes; ++pass) {
      replica.clear();
      reducer->set_synchronized(false);
      reducer->backward(replica.loss(group.rank(), 7));
      expect_error(ErrorCode::kIllegalState, "backward passes left", [&] { reducer->shadow(); });
      reducer->set_synchronized(true);
      reducer->backward(replica.loss(group.rank(), pass));
      replica.step();
    }
    while (reducer->shadow()) {
      replica.step();
    }
    reducer->end_uneven_inputs();
    EXPECT_EQ(2, replica.steps);
    EXPECT_EQ(2, reducer->reductions());
  });
}

TEST(UnevenInputs, OneRankShadowsNoOther) {
  const auto group = ProcessGroup::adopt(0, 0, 1);
  Replica replica;
  const auto reducer = replica.reduce(*group);
  for (const bool is_counted : {true, false}) {
    reducer->begin_uneven_inputs(is_counted ? 3 : -1, false);
    train(*reducer, replica, 0, 3, !is_counted);
    reducer->end_uneven_inputs();
  }
  EXPECT_EQ(6, replica.steps);
}

TEST(UnevenInputs, MisuseIsRefused) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    Replica replica;
    const auto reducer = replica.reduce(group);
    expect_error(ErrorCode::kIllegalState, "no scope of uneven inputs is open",
                 [&] { reducer->shadow(); });
    expect_error(ErrorCode::kIllegalState, "no scope of uneven inputs is open",
                 [&] { reducer->announce(); });
    expect_error(ErrorCode::kInvalidArgument, "at least 0, got -2",
                 [&] { reducer->begin_uneven_inputs(-2, false); });
    expect_error(ErrorCode::kInvalidArgument,
                 "rank 0 with announced passes, sums divided by all ranks, rank 1 with counted",
                 [&] { reducer->begin_uneven_inputs(group.rank() - 1, false); });
    reducer->begin_uneven_inputs(1, false);
    expect_error(ErrorCode::kIllegalState, "is open already",
                 [&] { reducer->begin_uneven_inputs(1, false); });
    expect_error(ErrorCode::kIllegalState, "1 backward passes left", [&] { reducer->shadow(); });
    reducer->backward(replica.loss(group.rank(), 0));
    expect_error(ErrorCode::kIllegalState, "run all backward passes of its uneven inputs",
                 [&] { reducer->backward(replica.loss(group.rank(), 1)); });
    EXPECT_FALSE(reducer->shadow());
    reducer->end_uneven_inputs();
    reducer->begin_uneven_inputs(-1, false);
    expect_error(ErrorCode::kIllegalState, "must announce a batch",
                 [&] { reducer->backward(replica.loss(group.rank(), 1)); });
    EXPECT_FALSE(reducer->shadow());
    expect_error(ErrorCode::kIllegalState, "no rank has inputs left", [&] { reducer->announce(); });
    reducer->end_uneven_inputs();
    reducer->backward(replica.loss(group.rank(), 1));
    reducer->begin_uneven_inputs(2, false);
    reducer->end_uneven_inputs();
    expect_error(ErrorCode::kIllegalState, "in which ranks had passes left",
                 [&] { reducer->backward(replica.loss(group.rank(), 1)); });
  });
}

TEST(UnevenInputs, ARankThatIsLostWhileOthersShadowIsReported) {
  on_gloo(3, [](ProcessGroup& group) {
    Replica replica;
    const auto reducer = replica.reduce(group);
    reducer->begin_uneven_inputs(group.rank() == 2 ? 5 : 1, false);
    if (group.rank() == 2) {
      for (int pass = 0; pass < 2; ++pass) {
        reducer->backward(replica.loss(2, pass));
      }
      group.abort();
      return;
    }
    reducer->backward(replica.loss(group.rank(), 0));
    expect_error(ErrorCode::kPeerLost, "", [&] {
      while (reducer->shadow()) {
        replica.clear();
      }
    });
    EXPECT_NE("", reducer->failure());
  });
}

}  // namespace
}  // namespace torchfeed
