// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "reduce/sparse_model.h"

namespace torchfeed {
namespace {

using testing::on_gloo;
using testing::train_sparse;
using Clock = std::chrono::steady_clock;

constexpr int kSoakRanks = 3;

/// The length of a soak: 2 s, or the seconds in `TORCHFEED_SOAK_SECONDS`.
Clock::duration soak_time() {
  const char* seconds = std::getenv("TORCHFEED_SOAK_SECONDS");
  return std::chrono::seconds(seconds == nullptr ? 2 : std::atoi(seconds));
}

/// Joins ranks 0 and 1, which the third one leaves alone.
void use_subgroup(c10d::Store& store, int64_t rank, int64_t lap) {
  if (rank == 2) {
    return;
  }
  const auto pair =
      ProcessGroup::connect(reinterpret_cast<int64_t>(&store), "pair " + std::to_string(lap), rank,
                            2, 60'000, "127.0.0.1", "");
  const at::Tensor sum = at::ones({5});
  (void)pair->all_reduce(sum, ProcessGroup::kSum, ProcessGroup::kChecked);
  EXPECT_EQ(10, sum.sum().item<int>());
}

TEST(GroupSoak, ModelsAndGroupsComeAndGo) {
  const auto end = Clock::now() + soak_time();
  const auto store = c10::make_intrusive<c10d::HashStore>();
  int64_t laps = 0;
  do {
    on_gloo(kSoakRanks, [&](ProcessGroup& group) {
      for (int model = 0; model < 4; ++model) {
        train_sparse(group, /*tables=*/4, /*steps=*/8);
        train_sparse(group, /*tables=*/0, /*steps=*/2);
      }
      use_subgroup(*store, group.rank(), laps);
    });
    ++laps;
  } while (Clock::now() < end && !HasFailure());
  RecordProperty("laps", static_cast<int>(laps));
}

}  // namespace
}  // namespace torchfeed
