// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <future>

#include "group/rank_threads.h"
#include "reduce/exchange_trainer.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::Kind;
using testing::kPromptly;
using testing::milliseconds_of;
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

}  // namespace
}  // namespace torchfeed
