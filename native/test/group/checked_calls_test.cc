// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "group/gloo_threads.h"
#include "group/rank_threads.h"
#include "torchfeed/work.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::on_gloo;

constexpr int64_t kRanks = 3;
/// Floats that travel with the description of a call, if there is not one more.
constexpr int64_t kCarried = 4096;

at::Tensor of_rank(int64_t rank, int64_t elements) {
  return at::arange(elements, at::kFloat) % 7 + static_cast<double>(rank);
}

void expect_values(const at::Tensor& expected, const at::Tensor& got, const char* what) {
  EXPECT_TRUE(at::equal(expected, got)) << what << " of " << expected.sizes();
}

void reduce_all(ProcessGroup& group, int64_t elements) {
  const at::Tensor mine = of_rank(group.rank(), elements);
  const at::Tensor sum = of_rank(0, elements) * kRanks + 3;
  at::Tensor values = mine.clone();
  group.all_reduce(values, 0);
  expect_values(sum, values, "all-reduce");
  values = mine.clone();
  group.reduce(values, 0, 1);
  expect_values(group.rank() == 1 ? sum : mine, values, "reduce");
  group.reduce_scatter(values, mine.repeat({kRanks}), 0);
  expect_values(sum, values, "reduce-scatter");
}

void move_all(ProcessGroup& group, int64_t elements) {
  const at::Tensor mine = of_rank(group.rank(), elements);
  std::vector<at::Tensor> each;
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    each.push_back(of_rank(rank, elements));
  }
  const at::Tensor all = at::stack(each);
  expect_values(all, group.all_gather(mine)->result(0), "all-gather");
  at::Tensor into = at::empty({kRanks, elements});
  group.all_gather_into(into, mine);
  expect_values(all, into, "all-gather into");
  at::Tensor values = mine.clone();
  group.broadcast(values, 2);
  expect_values(each[2], values, "broadcast");
  const auto gathered = group.gather(mine, 1);
  EXPECT_EQ(group.rank() == 1, gathered != nullptr);
  if (gathered) {
    expect_values(all, gathered->result(0), "gather");
  }
  group.scatter(values, group.rank() == 1 ? each : std::vector<at::Tensor>{}, 1);
  expect_values(mine, values, "scatter");
}

void move_bytes(ProcessGroup& group, int64_t length) {
  const auto of = [&](int64_t rank) { return at::full({length - 1 + rank}, rank, at::kByte); };
  const auto all = group.all_gather_bytes(of(group.rank()));
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    expect_values(of(rank), all->result(rank), "all-gather of bytes");
    expect_values(of(rank), group.broadcast_bytes(of(group.rank()), rank)->result(0),
                  "broadcast of bytes");
  }
}

TEST(CheckedCalls, ValuesUpToTheLimitAndBeyondArriveUnchanged) {
  on_gloo(kRanks, [](ProcessGroup& group) {
    for (const int64_t elements : {int64_t{1}, kCarried, kCarried + 1}) {
      reduce_all(group, elements);
      move_all(group, elements);
    }
    for (const int64_t length : {int64_t{1}, 4 * kCarried - 8, 4 * kCarried}) {
      move_bytes(group, length);
    }
  });
}

TEST(CheckedCalls, DifferentCallsOfAnySizesAreRefusedEverywhereAndModifyNothing) {
  using Call = std::function<void(ProcessGroup&, const at::Tensor&)>;
  const std::vector<Call> calls = {
      [](auto& group, auto& values) { group.all_reduce(values, 0); },
      [](auto& group, auto& values) { group.broadcast(values, 0); },
      [](auto& group, auto& values) {
        group.all_gather_into(at::empty({3, values.numel()}), values);
      },
      [](auto& group, auto& values) { group.all_gather_bytes(values.view(at::kByte)); },
      [](auto& group, auto&) { group.barrier(); },
  };
  on_gloo(kRanks, [&](ProcessGroup& group) {
    const bool is_odd = group.rank() == 1;
    for (size_t i = 0; i < calls.size(); ++i) {
      for (size_t other = 0; other < calls.size(); ++other) {
        const int64_t elements = is_odd ? 100'000 : 2;
        if (i == other && i >= 3) {
          continue;  // calls without shapes
        }
        const at::Tensor values = of_rank(group.rank(), elements);
        expect_error(ErrorCode::kInvalidArgument, "all ranks must make the same call: rank 0 calls",
                     [&] { calls[is_odd ? other : i](group, values); });
        expect_values(of_rank(group.rank(), elements), values, "refused");
      }
    }
    group.barrier();
  });
}

TEST(CheckedCalls, ALostRankIsSeenWhileALateOneIsAwaited) {
  std::promise<void> failed;
  on_gloo(kRanks, [&](ProcessGroup& group) {
    group.barrier();
    if (group.rank() == 2) {
      return;  // closes its group
    }
    if (group.rank() == 1) {
      EXPECT_EQ(std::future_status::ready, failed.get_future().wait_for(std::chrono::seconds(20)));
      return;
    }
    expect_error(ErrorCode::kPeerLost, "PEER_LOST|", [&] { group.barrier(); });
    failed.set_value();
  });
}

}  // namespace
}  // namespace torchfeed
