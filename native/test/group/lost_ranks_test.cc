// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "group/gloo_threads.h"
#include "group/rank_threads.h"

// Ranks that are lost while large tensors are on their way.
namespace torchfeed {
namespace {

using testing::kPromptly;
using testing::milliseconds_of;
using testing::on_gloo;
using LargeCall = std::function<void(ProcessGroup&, const at::Tensor&, int32_t)>;

/// Calls that send a large tensor; with rank 0 as root, if they have one.
const std::map<std::string, LargeCall>& large_calls() {
  static const std::map<std::string, LargeCall> kCalls = {
      {"all_gather", [](auto& group, auto& large, auto mode) { group.all_gather(large, mode); }},
      {"broadcast", [](auto& group, auto& large, auto mode) { group.broadcast(large, 0, mode); }},
      {"gather", [](auto& group, auto& large, auto mode) { group.gather(large, 0, mode); }},
      {"reduce", [](auto& group, auto& large, auto mode) { group.reduce(large, 0, 0, mode); }},
      {"all_reduce", [](auto& group, auto& large, auto mode) { group.all_reduce(large, 0, mode); }},
      {"all_to_all",
       [](auto& group, auto& large, auto mode) {
         group.all_to_all_single(large, large, nullptr, nullptr, mode);
       }},
      {"broadcast_bytes", [](auto& group, auto& large,
                             auto mode) { group.broadcast_bytes(large.view(at::kByte), 0, mode); }},
      {"reduce_scatter",
       [](auto& group, auto& large, auto mode) {
         group.reduce_scatter(at::empty({large.numel() / group.world_size()}), large, 0, mode);
       }},
      {"scatter",
       [](auto& group, auto& large, auto mode) {
         const auto parts = static_cast<size_t>(group.rank() == 0 ? group.world_size() : 0);
         group.scatter(at::empty_like(large), std::vector<at::Tensor>(parts, large), 0, mode);
       }},
  };
  return kCalls;
}

constexpr int64_t kLarge = int64_t{6} << 22;  // parts for two or three ranks

/// Returns whether a call fails, and checks the failure.
bool fails(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
    return false;
  } catch (const Error& e) {
    EXPECT_EQ(code, e.code()) << e.what();
    return true;
  }
}

/// Performs a call on three ranks, and loses rank 2 in its middle. Returns whether that was in
/// time: on a busy machine, the call may be done before.
bool loses_rank_in_the_middle(const std::string& name, int32_t mode) {
  std::promise<void> over;
  std::atomic<bool> is_in_time = true;
  on_gloo(
      3,
      [&](ProcessGroup& group) {
        const at::Tensor large = at::ones({kLarge});
        const auto call = [&] { large_calls().at(name)(group, large, mode); };
        group.barrier(0);
        if (group.rank() == 2) {
          std::thread calling([&] {
            if (!fails(ErrorCode::kIllegalState, call)) {
              is_in_time = false;
            }
          });
          std::this_thread::sleep_for(std::chrono::milliseconds(15));
          group.abort();
          calling.join();
        } else if (group.rank() == 0) {
          const double took = milliseconds_of([&] {
            if (!fails(ErrorCode::kPeerLost, call)) {
              is_in_time = false;
            }
          });
          EXPECT_LT(took, kPromptly) << name;
          over.set_value();
        } else {
          fails(ErrorCode::kPeerLost, call);
          over.get_future().wait();
        }
      },
      30'000);
  return is_in_time;
}

TEST(LostRanks, ARankLostInTheMiddleEndsTheCallAtItsRoot) {
  for (const auto& [name, call] : large_calls()) {
    bool is_in_time = false;
    for (int tries = 0; tries < 20 && !is_in_time; ++tries) {
      const double took = milliseconds_of(
          [&] { is_in_time = loses_rank_in_the_middle(name, ProcessGroup::kChecked); });
      EXPECT_TRUE(!is_in_time || took < kPromptly) << name << ", with closing all groups: " << took;
    }
    EXPECT_TRUE(is_in_time) << name << " ends on each rank as if none were lost";
  }
}

bool is_of_gloo(const std::string& name) { return name == "all_reduce" || name == "reduce"; }

/// Loses a rank in the middle of a large call, and closes the groups of the others.
void close_after_a_broken_call(const std::string& name, int ranks, int lost) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto group = ProcessGroup::connect(reinterpret_cast<int64_t>(store.get()), "group", rank,
                                         ranks, 600'000, "127.0.0.1", "");
      const at::Tensor large = at::ones({kLarge});
      const auto call = [&](ErrorCode failure) {
        try {
          large_calls().at(name)(*group, large, ProcessGroup::kChecked);  // may be done before
        } catch (const Error& e) {
          EXPECT_EQ(failure, e.code()) << e.what();
        }
      };
      group->barrier(0);
      if (rank == lost) {
        std::thread calling([&] { call(ErrorCode::kIllegalState); });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        group->abort();
        calling.join();
      } else {
        call(ErrorCode::kPeerLost);
        group.reset();
        EXPECT_TRUE(large.storage().use_count() == 1 || is_of_gloo(name))
            << name << " of " << ranks << " ranks without " << lost << " on rank " << rank;
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

// Gloo would wait for its timeout in an operation that it has begun to send or receive.
TEST(LostRanks, ClosingAfterABrokenCallLeavesNoneBehind) {
  std::signal(SIGPIPE, SIG_IGN);
  for (const auto& call : large_calls()) {
    for (const auto& [ranks, lost] : {std::pair(2, 0), {2, 1}, {3, 2}, {3, 0}}) {
      close_after_a_broken_call(call.first, ranks, lost);
    }
  }
}

}  // namespace
}  // namespace torchfeed
