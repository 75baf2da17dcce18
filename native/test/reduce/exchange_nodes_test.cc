// SPDX-License-Identifier: Apache-2.0
// Exchanges of gradients between nodes of several ranks.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <future>

#include "group/rank_threads.h"
#include "reduce/exchange_trainer.h"

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

ReducerOptions between_nodes(Kind kind, int64_t ranks_per_node) {
  auto options = options_of(kind);
  options.exchange.ranks_per_node = ranks_per_node;
  return options;
}

TEST(ExchangeBetweenNodes, AveragesOverAllRanks) {
  for (const auto& [ranks, ranks_per_node] : {std::pair(4, 2), std::pair(6, 3), std::pair(3, 3)}) {
    for (const auto kind : {Kind::kAllReduce, Kind::kFloat16, Kind::kBFloat16}) {
      const auto options = between_nodes(kind, ranks_per_node);
      train(ranks, options, {at::ones({7})}, [&, ranks = ranks](Trainer& trainer) {
        for (int64_t step = 0; step < 3; ++step) {
          const auto mine = [&](int64_t rank) { return numbers(rank, 7, step); };
          const auto got = trainer.step(mine(trainer.rank()));
          const double error = kind == Kind::kAllReduce ? 1e-6 : 1e-2;
          EXPECT_TRUE(at::allclose(mean_of(mine, ranks), got, error, error)) << got;
          expect_same_on_all_ranks(trainer.group(), got);
        }
      });
    }
  }
}

/// The values are padded as without nodes, to a multiple of the number of ranks.
TEST(ExchangeBetweenNodes, ByteGradCodesTheMeansOfNodes) {
  for (const int64_t count : {5, 8, 1001}) {
    train(4, between_nodes(Kind::kByteGrad, 2), {at::ones({count})}, [&](Trainer& trainer) {
      const auto node_mean = [&](int64_t node) {
        return numbers(2 * node, count) / 2 + numbers(2 * node + 1, count) / 2;
      };
      const auto got = trainer.step(numbers(trainer.rank(), count));
      EXPECT_TRUE(at::equal(in_bytes({node_mean(0), node_mean(1)}, 4), got)) << got;
      expect_same_on_all_ranks(trainer.group(), got);
    });
  }
}

TEST(ExchangeBetweenNodes, QAdamCodesTheMomentaOfNodes) {
  auto options = between_nodes(Kind::kQAdam, 2);
  options.exchange.warmup_steps = 1;
  train(4, options, {at::ones({8})}, [&](Trainer& trainer) {
    const auto mean = mean_of([](int64_t rank) { return numbers(rank, 8); }, 4);
    EXPECT_TRUE(at::allclose(mean, trainer.step(numbers(trainer.rank(), 8)), 1e-6, 1e-7));
    const auto momenta_of_node = [&](int64_t node) {
      const auto gradients = (numbers(2 * node, 8, 1) + numbers(2 * node + 1, 8, 1)) / 2;
      return mean * 0.1 * 0.9 + gradients * 0.1;
    };
    const auto got = trainer.step(numbers(trainer.rank(), 8, 1));
    // A rounding of the momenta may move a code by one level, of 255 for less than 0.2.
    EXPECT_TRUE(at::allclose(in_bytes({momenta_of_node(0), momenta_of_node(1)}), got, 0, 1e-3));
    expect_same_on_all_ranks(trainer.group(), got);
  });
}

TEST(ExchangeBetweenNodes, OnlyLeadersSendToOtherNodes) {
  train(4, between_nodes(Kind::kByteGrad, 2), {at::ones({1000})}, [](Trainer& trainer) {
    trainer.step(at::ones({1000}));
    const int64_t sent = trainer.rank() % 2 == 0 ? 2 * (32 + 512) : 0;
    EXPECT_EQ(sent, trainer.reducer().bucket_sent_bytes(0));
  });
}

TEST(ExchangeBetweenNodes, RefusesOptionsThatDoNotFit) {
  on_gloo(4, [](ProcessGroup& group) {
    const auto wrap = [&](const ReducerOptions& options) {
      return GradientReducer::create(group, "p\n", {at::ones({2}).requires_grad_(true)}, "", {},
                                     options);
    };
    expect_error(ErrorCode::kInvalidArgument,
                 "ranks_per_node must be a divisor of the number of ranks, 4, got 3",
                 [&] { (void)wrap(between_nodes(Kind::kByteGrad, 3)); });
    expect_error(ErrorCode::kInvalidArgument, "a divisor of the number of ranks, 4, got 0",
                 [&] { (void)wrap(between_nodes(Kind::kByteGrad, 0)); });
    expect_error(ErrorCode::kInvalidArgument, "ranks_per_node must be 1 with powerSgd, got 2",
                 [&] { (void)wrap(between_nodes(Kind::kPowerSgd, 2)); });
    const auto reducer = wrap(between_nodes(Kind::kAllReduce, 2));
    EXPECT_TRUE(reducer->needs_exchange_group());
    expect_error(ErrorCode::kIllegalState, "a node must have 2 ranks, got 1",
                 [&] { reducer->exchange_over(group); });
  });
}

/// The other ranks of its node, the other leader, and that one's node.
TEST(ExchangeBetweenNodes, ALeaderThatIsLostEndsAllOthers) {
  std::promise<void> lost;
  const auto is_lost = lost.get_future().share();
  train(4, between_nodes(Kind::kByteGrad, 2), {at::ones({100})}, [&](Trainer& trainer) {
    trainer.step(at::ones({100}));
    if (trainer.rank() == 2) {
      trainer.close();
      lost.set_value();
      return;
    }
    is_lost.wait();
    expect_error(ErrorCode::kPeerLost, "PEER_LOST|", [&] { trainer.step(at::ones({100})); });
  });
}

TEST(ExchangeBetweenNodes, AbortEndsTheExchangeOfItsRankAndTheOthers) {
  train(4, between_nodes(Kind::kByteGrad, 2), {at::ones({100})}, [&](Trainer& trainer) {
    trainer.step(at::ones({100}));
    if (trainer.rank() == 1) {
      trainer.group().abort();
      expect_error(ErrorCode::kIllegalState, "was aborted", [&] { trainer.step(at::ones({100})); });
      return;
    }
    expect_error(ErrorCode::kPeerLost, "PEER_LOST|", [&] { trainer.step(at::ones({100})); });
  });
}

}  // namespace
}  // namespace torchfeed
