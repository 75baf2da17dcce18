// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <map>

#include "group/gloo_threads.h"
#include "group/rank_threads.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::kPromptly;
using testing::milliseconds_of;
using testing::on_gloo;
using Calls = std::map<std::string, std::function<void(ProcessGroup&)>>;

constexpr auto kHang = std::chrono::milliseconds(300);

/// One call of every operation that involves both of two ranks.
const Calls& calls() {
  static const Calls kCalls = {
      {"barrier", [](auto& group) { group.barrier(0); }},
      {"checked barrier", [](auto& group) { group.barrier(); }},
      {"all_reduce", [](auto& group) { group.all_reduce(at::ones({2}), 0, 0); }},
      {"reduce", [](auto& group) { group.reduce(at::ones({2}), 0, group.rank(), 0); }},
      {"reduce_scatter",
       [](auto& group) { group.reduce_scatter(at::ones({1}), at::ones({2}), 0, 0); }},
      {"broadcast", [](auto& group) { group.broadcast(at::ones({2}), 1 - group.rank(), 0); }},
      {"scatter", [](auto& group) { group.scatter(at::ones({2}), {}, 1 - group.rank(), 0); }},
      {"all_gather", [](auto& group) { group.all_gather(at::ones({2}), 0); }},
      {"gather", [](auto& group) { group.gather(at::ones({2}), group.rank(), 0); }},
      {"all_to_all",
       [](auto& group) {
         group.all_to_all_single(at::empty({2}), at::ones({2}), nullptr, nullptr, 0);
       }},
      {"all_gather_bytes", [](auto& group) { group.all_gather_bytes(at::ones({2}, at::kByte)); }},
      {"broadcast_bytes",
       [](auto& group) { group.broadcast_bytes(at::ones({2}, at::kByte), 1 - group.rank()); }},
      {"receive", [](auto& group) { group.receive(at::empty({2}), 1 - group.rank(), 0, 0); }},
      {"checked receive", [](auto& group) { group.receive(at::empty({2}), 1 - group.rank(), 0); }},
      {"send", [](auto& group) { group.send(at::ones({1 << 22}), 1 - group.rank(), 0, 0); }},
  };
  return kCalls;
}

class CollectiveFaults : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(
    Calls, CollectiveFaults,
    [] {
      std::vector<std::string> names;
      for (const auto& call : calls()) {
        names.push_back(call.first);
      }
      return ::testing::ValuesIn(names);
    }(),
    [](const auto& info) {
      std::string name = info.param;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

TEST_P(CollectiveFaults, APeerThatIsGoneIsReportedAtOnce) {
  on_gloo(2, [&](ProcessGroup& group) {
    group.barrier(0);
    if (group.rank() == 1) {
      return;  // closes its group
    }
    const double took = milliseconds_of([&] {
      expect_error(ErrorCode::kPeerLost, "PEER_LOST|", [&] { calls().at(GetParam())(group); });
    });
    EXPECT_LT(took, kPromptly);
  });
}

TEST_P(CollectiveFaults, AbortWakesACallThatWaitsForAHungPeer) {
  std::promise<void> aborted;
  on_gloo(2, [&](ProcessGroup& group) {
    group.barrier(0);
    if (group.rank() == 1) {
      aborted.get_future().wait();
      const auto call = calls().at(GetParam());
      expect_error(ErrorCode::kPeerLost, "PEER_LOST|", [&] { call(group); });
      return;
    }
    std::thread waiting([&] {
      expect_error(ErrorCode::kIllegalState, "ILLEGAL_STATE|ProcessGroup was aborted",
                   [&] { calls().at(GetParam())(group); });
    });
    std::this_thread::sleep_for(kHang);
    const double took = milliseconds_of([&] {
      group.abort();
      waiting.join();
    });
    EXPECT_LT(took, kPromptly);
    expect_error(ErrorCode::kIllegalState, "was aborted", [&] { group.barrier(); });
    aborted.set_value();
  });
}

/// Lets one rank continue when another is over, even after a failure.
class EndOfRank {
 public:
  explicit EndOfRank(std::promise<void>& is_over) : is_over_(is_over) {}
  ~EndOfRank() { is_over_.set_value(); }
  EndOfRank(const EndOfRank&) = delete;
  EndOfRank& operator=(const EndOfRank&) = delete;

 private:
  std::promise<void>& is_over_;
};

// All calls at a time, since each waits for its timeout. It is long enough to connect the ranks on
// a busy machine.
TEST(CollectiveFaultsOfMany, AHungPeerIsATimeout) {
  constexpr int64_t kTimeout = 4000;
  std::vector<std::thread> threads;
  for (const auto& each : calls()) {
    threads.emplace_back([&each] {
      const auto& [name, call] = each;
      std::promise<void> failed;
      const auto run = [&] {
        on_gloo(
            2,
            [&](ProcessGroup& group) {
              SCOPED_TRACE(name);
              if (group.rank() == 1) {
                group.barrier(0);
                failed.get_future().wait();
                return;
              }
              const EndOfRank end(failed);
              group.barrier(0);
              expect_error(ErrorCode::kTimeout, "TIMEOUT|", [&] { call(group); });
            },
            kTimeout);
      };
      EXPECT_NO_THROW(run()) << name;
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

TEST(CollectiveFaultsOfMany, ClosingAGroupWakesQueuedCalls) {
  std::promise<void> closed;
  on_gloo(2, [&](ProcessGroup& group) {
    group.barrier(0);
    if (group.rank() == 1) {
      closed.get_future().wait();
      return;
    }
    std::vector<std::unique_ptr<Work>> works;
    for (int i = 0; i < 5; ++i) {
      works.push_back(group.all_reduce(at::ones({2}), 0, i % 2 == 0 ? 2 : 3));
      works.push_back(group.receive(at::ones({2}), 1, i, 2));
    }
    EXPECT_FALSE(works[0]->await(50));
    EXPECT_FALSE(works[0]->is_done());
    const double took = milliseconds_of([&] {
      group.abort_if_busy();
      for (const auto& work : works) {
        expect_error(ErrorCode::kIllegalState, "was aborted", [&] { work->await(-1); });
      }
    });
    EXPECT_LT(took, kPromptly);
    closed.set_value();
  });
}

TEST(CollectiveFaultsOfMany, AnIdleGroupIsNotAborted) {
  on_gloo(2, [](ProcessGroup& group) {
    group.barrier();
    group.abort_if_busy();
    group.barrier();
  });
}

TEST(CollectiveFaultsOfMany, AbortingOneGroupLeavesAnotherOfTheSameRanks) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  on_gloo(2, [&](ProcessGroup& first) {
    const auto second = ProcessGroup::connect(reinterpret_cast<int64_t>(store.get()), "second",
                                              first.rank(), 2, 60'000, "127.0.0.1", "");
    first.abort();
    second->barrier();
    expect_error(ErrorCode::kIllegalState, "was aborted", [&] { first.barrier(); });
  });
}

void expect_lost(const std::function<void()>& body) {
  expect_error(ErrorCode::kPeerLost, "PEER_LOST|", body);
}

TEST(CollectiveFaultsOfMany, ABroadcastFailsWhereItsRootIsLostBehindALivingRank) {
  std::promise<void> failed;
  const auto has_failed = failed.get_future().share();
  on_gloo(
      4,
      [&](ProcessGroup& group) {
        group.barrier(0);
        if (group.rank() == 0) {
          return;  // closes its group
        }
        const double took =
            milliseconds_of([&] { expect_lost([&] { group.broadcast(at::ones({2}), 0, 0); }); });
        EXPECT_LT(took, kPromptly) << group.rank();
        if (group.rank() == 3) {  // rank 2 would have passed the values on
          failed.set_value();
        }
        has_failed.wait_for(std::chrono::seconds(60));
      },
      30'000);
}

TEST(CollectiveFaultsOfMany, ARankMayLeaveABroadcastBeforeALateOneBegins) {
  on_gloo(4, [](ProcessGroup& group) {
    group.barrier(0);
    if (group.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::seconds(3));
    }
    const at::Tensor values = at::full({2}, static_cast<double>(group.rank()));
    group.broadcast(values, 0, 0);  // rank 1 has its values at once, and closes its group
    EXPECT_EQ(0.0, values.sum().item<double>());
  });
}

TEST(CollectiveFaultsOfMany, ThreadsMayCallWhileAnotherAborts) {
  const auto call_for_ever = [](ProcessGroup& group) {
    while (true) {
      group.all_reduce(at::ones({8}), 0, 0);
    }
  };
  on_gloo(
      2,
      [&](ProcessGroup& group) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i) {
          threads.emplace_back([&] {
            if (group.rank() == 0) {
              expect_error(ErrorCode::kIllegalState, "aborted", [&] { call_for_ever(group); });
            } else {
              expect_lost([&] { call_for_ever(group); });
            }
          });
        }
        std::this_thread::sleep_for(kHang);
        if (group.rank() == 0) {
          group.abort();
        }
        for (auto& thread : threads) {
          thread.join();
        }
      },
      5000);
}

TEST(CollectiveFaultsOfMany, AbortWakesATransferInFlight) {
  on_gloo(
      2,
      [](ProcessGroup& group) {
        const at::Tensor large = at::ones({1 << 25});
        group.barrier(0);
        if (group.rank() == 1) {
          expect_lost([&] { group.all_reduce(large, 0, 0); });
          return;
        }
        const auto reducing = group.all_reduce(large, 0, ProcessGroup::kAsynchronous);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const double took = milliseconds_of([&] {
          group.abort();
          expect_error(ErrorCode::kIllegalState, "was aborted", [&] { reducing->await(-1); });
        });
        EXPECT_LT(took, kPromptly);
      },
      30'000);
}

}  // namespace
}  // namespace torchfeed
