// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/process_group.h"

#include <ATen/ATen.h>
#include <c10/util/env.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <utility>

#include "group/rank_threads.h"
#include "torch/group/collective_errors.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::on_ranks;

TEST(CollectiveErrors, MessagesOfGlooAndTheStoreAreClassified) {
  const auto code = detail::classify_collective_error;
  EXPECT_EQ(ErrorCode::kPeerLost, code("Read error [127.0.0.1]:1: Connection reset by peer"));
  EXPECT_EQ(ErrorCode::kPeerLost, code("Connection closed by peer [127.0.0.1]:37514"));
  EXPECT_EQ(ErrorCode::kPeerLost, code("writev [127.0.0.1]:1: Broken pipe"));
  EXPECT_EQ(ErrorCode::kPeerLost, code("Socket closed [127.0.0.1]:1"));
  EXPECT_EQ(ErrorCode::kTimeout, code("Timed out waiting 2000ms for recv operation to complete"));
  EXPECT_EQ(ErrorCode::kTimeout, code("Application timeout caused pair closure"));
  EXPECT_EQ(ErrorCode::kTimeout, code("wait timeout after 300000ms, keys: /0/1"));
  EXPECT_EQ(ErrorCode::kInternal, code("Expected all tensors to be on the same device"));
}

TEST(CollectiveErrors, PathsAndBacktracesAreCutOff) {
  EXPECT_EQ("Broken pipe",
            detail::without_source_location("[/a/b/pair.cc:538] Broken pipe\nException raised "
                                            "from f at x.cc:1 (most recent call first)"));
  const std::string odd = "[127.0.0.1] is odd";
  EXPECT_EQ(odd, detail::without_source_location(odd));
}

TEST(ProcessGroup, OneRankIsAGroupWithoutABackend) {
  const auto group = ProcessGroup::adopt(0, 0, 1);
  at::Tensor tensor = at::arange(4, at::kFloat);
  group->barrier();
  group->all_reduce(tensor, 0);
  group->broadcast(tensor, 0);
  EXPECT_TRUE(at::equal(at::arange(4, at::kFloat), tensor));
  EXPECT_TRUE(at::equal(tensor.unsqueeze(0), group->all_gather(tensor)->result(0)));
  EXPECT_EQ(1, group->world_size());
}

TEST(ProcessGroup, InvalidRanksAndBackendsAreRefused) {
  expect_error(ErrorCode::kInvalidArgument, "got rank 1 of 1",
               [] { (void)ProcessGroup::adopt(0, 1, 1); });
  expect_error(ErrorCode::kInvalidArgument, "must have no backend",
               [] { (void)ProcessGroup::adopt(0, 0, 2); });
}

/// A backend whose destructor waits for its peers, as Gloo's does.
class WaitingBackend : public c10d::Backend {
 public:
  explicit WaitingBackend(std::promise<std::thread::id>& end, std::shared_future<void> peers)
      : Backend(0, 2), end_(end), peers_(std::move(peers)) {}
  WaitingBackend(const WaitingBackend&) = delete;
  WaitingBackend& operator=(const WaitingBackend&) = delete;
  ~WaitingBackend() override {
    end_.set_value(std::this_thread::get_id());
    peers_.wait_for(std::chrono::seconds(30));
  }

  const std::string getBackendName() const override { return "waiting"; }

 private:
  std::promise<std::thread::id>& end_;
  std::shared_future<void> peers_;
};

TEST(ProcessGroup, ClosingDoesNotWaitForTheDestructorOfItsBackend) {
  std::promise<std::thread::id> end;
  std::promise<void> peers;
  auto backend = c10::make_intrusive<WaitingBackend>(end, peers.get_future().share());
  auto group = ProcessGroup::adopt(reinterpret_cast<int64_t>(backend.get()), 0, 2);
  backend.reset();
  group.reset();
  EXPECT_NE(std::this_thread::get_id(), end.get_future().get());
  peers.set_value();
}

TEST(ProcessGroup, CollectivesUpdateTensorsInPlaceOnEveryRank) {
  on_ranks(3, [](ProcessGroup& group, auto&) {
    const auto rank = static_cast<double>(group.rank());
    at::Tensor strided = at::full({2, 3}, rank, at::kFloat).t();
    group.all_reduce(strided, 0);
    EXPECT_TRUE(at::equal(at::full({3, 2}, 3., at::kFloat), strided));
    at::Tensor mean = at::full({2}, rank, at::kDouble);
    group.all_reduce(mean, 1);
    EXPECT_TRUE(at::equal(at::full({2}, 1., at::kDouble), mean));
    at::Tensor sent = at::full({5}, rank, at::kFloat);
    group.broadcast(sent, 2);
    EXPECT_TRUE(at::equal(at::full({5}, 2., at::kFloat), sent));
    const at::Tensor scalar = at::full({}, group.rank(), at::kLong);
    EXPECT_TRUE(at::equal(at::arange(3, at::kLong), group.all_gather(scalar)->result(0)));
    at::Tensor empty = at::empty({0});
    group.all_reduce(empty, 0);
    group.barrier();
  });
}

TEST(ProcessGroup, LeafTensorsAreReducedWithoutAutograd) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const at::Tensor leaf = at::ones({2}).requires_grad_(true);
    group.all_reduce(leaf, 0);
    EXPECT_TRUE(at::equal(at::full({2}, 2.), leaf.detach()));
  });
}

TEST(ProcessGroup, DifferentCallsAreRefusedOnEveryRank) {
  on_ranks(2, [](ProcessGroup& group, auto&) {
    const at::Tensor tensor = at::ones({2 + group.rank()});
    expect_error(ErrorCode::kInvalidArgument,
                 "rank 0 calls all-reduce (sum) of Float [2], rank 1 calls all-reduce (sum) of "
                 "Float [3]",
                 [&] { group.all_reduce(tensor, 0); });
    expect_error(ErrorCode::kInvalidArgument, "rank 1 calls broadcast from rank 0",
                 [&] { group.rank() == 0 ? group.barrier() : group.broadcast(at::ones({2}), 0); });
    group.barrier();
  });
}

TEST(ProcessGroup, UnsupportedTensorsAndArgumentsAreRefused) {
  const auto group = ProcessGroup::adopt(0, 0, 1);
  expect_error(ErrorCode::kInvalidArgument, "must be defined",
               [&] { group->all_reduce(at::Tensor(), 0); });
  expect_error(ErrorCode::kInvalidArgument, "op must be in [0, 8), got 8",
               [&] { group->all_reduce(at::ones({1}), 8); });
  expect_error(ErrorCode::kInvalidArgument, "got Bool",
               [&] { group->all_reduce(at::ones({1}, at::kBool), 0); });
  expect_error(ErrorCode::kInvalidArgument, "a mean needs a floating-point dtype, got Long",
               [&] { group->all_reduce(at::ones({1}, at::kLong), 1); });
  expect_error(ErrorCode::kInvalidArgument, "root must be in [0, 1), got 1",
               [&] { group->broadcast(at::ones({1}), 1); });
  expect_error(ErrorCode::kInvalidArgument, "dense and have values",
               [&] { group->broadcast(at::ones({1}).to_sparse(), 0); });
}

TEST(ProcessGroup, ALostPeerIsNotAnInternalError) {
  on_ranks(2, [](ProcessGroup& group, testing::Exchange& exchange) {
    group.barrier();
    exchange.fail_with("[/x/pair.cc:538] Connection reset by peer");
    expect_error(ErrorCode::kPeerLost, "PEER_LOST|Connection reset by peer",
                 [&] { group.barrier(); });
  });
}

/// A store whose destructor waits.
class StuckStore : public c10d::HashStore {
 public:
  explicit StuckStore(std::shared_future<void> end) : end_(std::move(end)) {}
  ~StuckStore() override { end_.wait(); }

 private:
  std::shared_future<void> end_;
};

TEST(ProcessGroup, AStoreThatDoesNotEndIsLeftToAThread) {
  std::promise<void> end;
  auto store = c10::make_intrusive<StuckStore>(end.get_future().share());
  ProcessGroup::release_store(reinterpret_cast<int64_t>(store.release()));  // returns
  end.set_value();
}

TEST(ProcessGroup, NothingIsLeftAlive) {
  const auto before = live_objects();
  on_ranks(2, [](ProcessGroup& group, auto&) { group.barrier(); });
  EXPECT_EQ(before, live_objects());
}

TEST(ProcessGroups, TheFlightRecorderIsOffUnlessItIsAskedFor) {
  const auto group = ProcessGroup::adopt(0, 0, 1);
  EXPECT_EQ("0", c10::utils::get_env("TORCH_FR_BUFFER_SIZE"));
}

}  // namespace
}  // namespace torchfeed
