// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <limits>

#include "group/rank_threads.h"
#include "reduce/exchange_trainer.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::expect_same_on_all_ranks;
using testing::Kind;
using testing::kPromptly;
using testing::milliseconds_of;
using testing::numbers;
using testing::on_gloo;
using testing::options_of;
using testing::Tensors;
using testing::train;
using testing::Trainer;

TEST(GradientExchangeFaults, ARankThatIsLostEndsTheOthers) {
  for (const auto kind : {Kind::kFloat16, Kind::kByteGrad, Kind::kPowerSgd}) {
    for (const int ranks : {2, 3}) {
      train(ranks, options_of(kind, 100), {at::ones({20, 20}), at::ones({30})},
            [&](Trainer& trainer) {
              const Tensors gradients = {at::ones({20, 20}), at::ones({30})};
              trainer.step(gradients);
              trainer.step(gradients);
              if (trainer.rank() == ranks - 1) {
                return;  // closes everything
              }
              expect_error(ErrorCode::kPeerLost, "PEER_LOST|", [&] { trainer.step(gradients); });
              expect_error(ErrorCode::kIllegalState, "an earlier backward pass failed",
                           [&] { trainer.step(gradients); });
            });
    }
  }
}

TEST(GradientExchangeFaults, AbortWakesABackwardPass) {
  for (const auto kind : {Kind::kBFloat16, Kind::kByteGrad, Kind::kPowerSgd, Kind::kQAdam}) {
    std::promise<void> aborted;
    train(2, options_of(kind, 100), {at::ones({20, 20}), at::ones({30})}, [&](Trainer& trainer) {
      const Tensors gradients = {at::ones({20, 20}), at::ones({30})};
      trainer.step(gradients);
      if (trainer.rank() == 1) {
        aborted.get_future().wait();
        return;
      }
      std::thread waiting([&] {
        expect_error(ErrorCode::kIllegalState, "ILLEGAL_STATE|ProcessGroup was aborted",
                     [&] { trainer.step(gradients); });
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      const double took = milliseconds_of([&] {
        trainer.group().abort();
        waiting.join();
      });
      EXPECT_LT(took, kPromptly);
      aborted.set_value();
    });
  }
}

TEST(GradientExchangeFaults, AnAbortBeforeTheExchangeHasItsGroupReachesThatToo) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  on_gloo(2, [&](ProcessGroup& group) {
    const auto side = ProcessGroup::connect(reinterpret_cast<int64_t>(store.get()), "side",
                                            group.rank(), 2, 60'000, "127.0.0.1", "");
    const at::Tensor parameter = at::ones({2}).requires_grad_(true);
    const auto reducer =
        GradientReducer::create(group, "p\n", {parameter}, "", {}, options_of(Kind::kFloat16));
    group.abort();
    reducer->exchange_over(*side);
    expect_error(ErrorCode::kIllegalState, "was aborted", [&] { side->barrier(); });
  });
}

TEST(GradientExchangeFaults, ClosingAfterAFailedPassDoesNotWaitForTheOthers) {
  std::promise<void> closed;
  const Tensors like = {at::ones({4}), at::ones({4})};
  train(2, options_of(Kind::kByteGrad, 1), like, [&](Trainer& trainer) {
    trainer.step(like);
    trainer.step(like);
    if (trainer.rank() == 1) {
      closed.get_future().wait();
      expect_error(ErrorCode::kPeerLost, "PEER_LOST|", [&] { trainer.step(like); });
      return;
    }
    // The gradients of the last parameter come first, and are then on their way.
    expect_error(ErrorCode::kInternal, "a user's error",
                 [&] { trainer.reducer().backward(trainer.loss(like, /*fails=*/true)); });
    EXPECT_LT(milliseconds_of([&] { trainer.close(); }), kPromptly);
    closed.set_value();
  });
}

TEST(GradientExchangeFaults, ANumberThatIsNotFiniteIsSeenByAllRanksAndForgotten) {
  for (int kind = 0; kind < Kind::kKindCount; ++kind) {
    for (const int64_t node : {1, 2}) {
      for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        auto options = options_of(static_cast<Kind>(kind), 100);
        options.exchange.warmup_steps = kind == Kind::kQAdam ? 1 : 0;
        options.exchange.ranks_per_node = kind == Kind::kPowerSgd ? 1 : node;
        train(4, options, {at::ones({20, 20}), at::ones({30})}, [&](Trainer& trainer) {
          for (int64_t step = 0; step < 7; ++step) {
            const int64_t mine = trainer.rank();
            const Tensors gradients = {numbers(mine, 400, step).view({20, 20}),
                                       numbers(mine, 30, step)};
            const bool is_bad = step == 3 || step == 5;
            if (is_bad && mine == step % 4) {
              gradients[step == 3 ? 0 : 1].view({-1})[7] = bad;
            }
            const auto got = trainer.step(gradients);
            const double norm = trainer.reducer().clip(1e30);
            EXPECT_EQ(!is_bad, std::isfinite(norm)) << "kind " << kind << ", step " << step;
            expect_same_on_all_ranks(trainer.group(), got[0].nan_to_num(-1));
            expect_same_on_all_ranks(trainer.group(), got[1].nan_to_num(-1));
          }
        });
      }
    }
  }
}

}  // namespace
}  // namespace torchfeed
