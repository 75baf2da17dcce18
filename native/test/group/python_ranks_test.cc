// SPDX-License-Identifier: Apache-2.0
// Groups in which every rank sends as Python's ranks do; the Java tests have real ones.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "group/gloo_threads.h"
#include "group/rank_threads.h"
#include "torchfeed/reducer.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::kPromptly;
using testing::milliseconds_of;
using testing::on_gloo;

constexpr int32_t kSum = ProcessGroup::kSum;

void on_python(int ranks, const testing::Body& body) {
  on_gloo(ranks, body, 60'000, /*has_python_ranks=*/true);
}

TEST(PythonRanks, MessagesOfDifferentTagsOvertake) {
  on_python(2, [](ProcessGroup& group) {
    const auto peer = 1 - group.rank();
    if (group.rank() == 0) {
      const auto first = group.send(at::full({2}, 1), peer, 7, ProcessGroup::kAsynchronous);
      group.send(at::full({2}, 2), peer, 0);
      first->await(-1);
      return;
    }
    const at::Tensor second = at::empty({2}, at::kLong);
    const at::Tensor first = at::empty({2}, at::kLong);
    group.receive(second, peer, 0);
    group.receive(first, peer, 7);
    EXPECT_EQ(1, first[0].item<int64_t>());
    EXPECT_EQ(2, second[0].item<int64_t>());
  });
}

TEST(PythonRanks, ALostRankEndsTheOperationsOfTheOthers) {
  for (const int ranks : {2, 3}) {
    on_python(ranks, [](ProcessGroup& group) {
      group.barrier();
      if (group.rank() == 1) {
        return;  // closes its group
      }
      const double took = milliseconds_of([&] {
        expect_error(ErrorCode::kPeerLost, "PEER_LOST|",
                     [&] { group.all_reduce(at::ones({1 << 20}), kSum); });
      });
      EXPECT_LT(took, kPromptly);
    });
  }
}

TEST(PythonRanks, AbortWakesEveryRank) {
  for (const int ranks : {2, 3}) {
    on_python(ranks, [](ProcessGroup& group) {
      group.barrier();
      if (group.rank() == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        group.abort();
        expect_error(ErrorCode::kIllegalState, "was aborted", [&] { group.barrier(); });
        return;
      }
      const double took = milliseconds_of(
          [&] { expect_error(ErrorCode::kPeerLost, "PEER_LOST|", [&] { group.barrier(); }); });
      EXPECT_LT(took, kPromptly);
    });
  }
}

/// One parameter and one buffer, in the type of the model of Python.
struct Model {
  explicit Model(double scale)
      : weight(at::full({3}, scale).requires_grad_(true)), mean(at::full({2}, scale)) {}

  [[nodiscard]] std::unique_ptr<GradientReducer> reduce(const ProcessGroup& group,
                                                        int buffer_mode) const {
    ReducerOptions options;
    options.buffer_mode = buffer_mode;
    return GradientReducer::create(group, "weight\n", {weight}, "mean\n", {mean}, options);
  }

  at::Tensor weight;
  at::Tensor mean;
};

TEST(PythonRanks, GradientsAreAveragedAndBuffersCopiedBeforeAForwardPass) {
  on_python(2, [](ProcessGroup& group) {
    const auto rank = static_cast<double>(group.rank());
    const Model model(1 + rank);
    const auto reducer = model.reduce(group, ReducerOptions::kBeforeForward);
    EXPECT_EQ(1, model.weight[0].item<double>());
    for (int step = 0; step < 3; ++step) {
      model.mean.fill_(5 + rank);
      reducer->before_forward();
      EXPECT_EQ(5, model.mean[0].item<double>());
      model.weight.mutable_grad().reset();
      reducer->backward((model.weight * (1 + rank)).sum());
      EXPECT_EQ(1.5, model.weight.grad()[0].item<double>());
    }
    const at::NoGradGuard evaluating;
    model.mean.fill_(7 + rank);
    reducer->before_forward();
    EXPECT_EQ(7, model.mean[0].item<double>()) << "as after any synchronized forward pass";
    model.mean.fill_(9 + rank);
    reducer->before_forward();
    EXPECT_EQ(9 + rank, model.mean[0].item<double>()) << "as after one without gradients";
  });
}

TEST(PythonRanks, BuffersAreCopiedAtNoOtherMoment) {
  on_python(2, [](ProcessGroup& group) {
    for (const int mode : {ReducerOptions::kOnRequest, ReducerOptions::kAfterBackward}) {
      expect_error(ErrorCode::kInvalidArgument, "must be BEFORE_FORWARD or OFF",
                   [&] { (void)Model(1).reduce(group, mode); });
    }
  });
}

TEST(PythonRanks, ModelsOfDifferentSizeAreRefusedOnEveryRank) {
  on_python(2, [](ProcessGroup& group) {
    const Model model(1);
    const at::Tensor more = at::ones({2}).requires_grad_(true);
    ReducerOptions options;
    options.buffer_mode = ReducerOptions::kOff;
    expect_error(ErrorCode::kInvalidArgument, "DDP expects same model", [&] {
      (void)(group.rank() == 0 ? model.reduce(group, ReducerOptions::kOff)
                               : GradientReducer::create(group, "weight\nmore\n",
                                                         {model.weight, more}, "", {}, options));
    });
  });
}

}  // namespace
}  // namespace torchfeed
