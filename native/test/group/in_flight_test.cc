// SPDX-License-Identifier: Apache-2.0
#include "torch/flight/in_flight.h"

#include <ATen/ATen.h>
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "group/meshes.h"
#include "torch/flight/future_work.h"
#include "torch/group/watched_backend.h"
#include "torch/mesh/gloo_mesh.h"
#include "torch/mesh/gloo_workers.h"
#include "torchfeed/error.h"

namespace {

std::atomic<int> closed_before_shutdown{-1};

}  // namespace

/// Takes the place of the C library's. Closes a descriptor first, as another thread may.
extern "C" __attribute__((visibility("default"))) int shutdown(int descriptor, int how) noexcept {
  const int closed = closed_before_shutdown.exchange(-1);
  if (closed >= 0) {
    close(closed);
    EXPECT_EQ(closed, dup(STDERR_FILENO));  // the lowest number that is free
    EXPECT_NE(closed, descriptor);
  }
  return static_cast<int>(syscall(SYS_shutdown, descriptor, how));
}

namespace torchfeed {
namespace {

using detail::GroupSockets;
using std::chrono::milliseconds;
using testing::kPatience;
using testing::on_meshes;

/// A connection over the loopback interface.
class Connection {
 public:
  Connection() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(0, bind(listener, any, length));
    EXPECT_EQ(0, listen(listener, 1));
    EXPECT_EQ(0, getsockname(listener, any, &length));
    peer_address_ = text_of(address);
    own_ = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(0, connect(own_, any, length));
    EXPECT_EQ(0, getsockname(own_, any, &length));
    own_address_ = text_of(address);
    peer_ = accept(listener, nullptr, nullptr);
    close(listener);
  }
  ~Connection() {
    close(own_);
    close_peer();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int own() const { return own_; }
  [[nodiscard]] GroupSockets::Connection to(int64_t rank) const {
    return {rank, own_, own_address_, peer_address_};
  }
  /// Sends a byte from the peer, which then ends the connection.
  void end_after_byte() {
    EXPECT_EQ(1, send(peer_, "1", 1, 0));
    close_peer();
  }
  void read_byte() const {
    char byte = 0;
    EXPECT_EQ(1, recv(own_, &byte, 1, 0));
  }
  void close_peer() {
    if (peer_ >= 0) {
      close(std::exchange(peer_, -1));
    }
  }
  /// Returns whether the peer learns of the end.
  [[nodiscard]] bool has_ended() const {
    char byte = 0;
    return recv(peer_, &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  static std::string text_of(const sockaddr_in& address) {
    return "127.0.0.1 " + std::to_string(ntohs(address.sin_port));
  }

  int own_ = -1;
  int peer_ = -1;
  std::string own_address_;
  std::string peer_address_;
};

using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

/// Returns work that never ends, and keeps it, as Gloo does until the end.
c10::intrusive_ptr<c10d::Work> endless_work(Works& kept) {
  kept.push_back(c10::make_intrusive<detail::FutureWork>(
      c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))));
  return kept.back();
}

ErrorCode code_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& e) {
    return e.code();
  }
}

TEST(GroupSocketsTest, AReusedDescriptorIsNotShutDown) {
  const Connection connection;
  const GroupSockets sockets({connection.to(1)});
  closed_before_shutdown = connection.own();
  sockets.shut_down();
  EXPECT_TRUE(connection.has_ended());
  sockets.shut_down();  // of another file by now
  EXPECT_EQ(std::vector<int64_t>{1}, sockets.lost());
}

TEST(InFlightTest, ACallbackOfAFailureMayCallTheGroup) {
  Connection connection;
  const GroupSockets sockets({connection.to(1)});
  InFlight in_flight(sockets, 0, 2, {.lap = milliseconds(5)});
  std::promise<bool> called;
  Works kept;
  const auto work = in_flight.watched(endless_work(kept));
  work->getFuture()->addCallback([&](auto&) { called.set_value(in_flight.is_idle()); });
  connection.close_peer();
  auto is_idle = called.get_future();
  ASSERT_EQ(std::future_status::ready, is_idle.wait_for(kPatience));
  EXPECT_TRUE(is_idle.get());
  EXPECT_EQ(ErrorCode::kPeerLost, code_of(work->exception()));
}

TEST(InFlightTest, AnOperationIsNotGivenUpWhileBytesOfTheLostRankAreUnread) {
  Connection connection;
  const GroupSockets sockets({connection.to(1)});
  InFlight in_flight(sockets, 0, 2, {.lap = milliseconds(5), .long_quiet = kPatience});
  Works kept;
  const auto work = in_flight.watched(endless_work(kept));
  connection.end_after_byte();
  std::this_thread::sleep_for(milliseconds(100));  // 20 laps
  EXPECT_EQ(std::vector<int64_t>{1}, sockets.lost());
  EXPECT_FALSE(work->getFuture()->completed());
  connection.read_byte();
  std::promise<void> ended;
  work->getFuture()->addCallback([&](auto&) { ended.set_value(); });
  ASSERT_EQ(std::future_status::ready, ended.get_future().wait_for(kPatience));
  EXPECT_EQ(ErrorCode::kPeerLost, code_of(work->exception()));
}

TEST(InFlightTest, UnreadBytesDelayAFailureOnlyForAWhile) {
  Connection connection;
  const GroupSockets sockets({connection.to(1)});
  InFlight in_flight(sockets, 0, 2, {.lap = milliseconds(5), .long_quiet = milliseconds(50)});
  Works kept;
  const auto work = in_flight.watched(endless_work(kept));
  connection.end_after_byte();
  std::promise<void> ended;
  work->getFuture()->addCallback([&](auto&) { ended.set_value(); });
  ASSERT_EQ(std::future_status::ready, ended.get_future().wait_for(kPatience));
}

TEST(InFlightTest, WhatMayWaitForALateRankEndsLastAfterALossButBeforeTheTimeout) {
  Connection lost;
  const Connection late;
  const GroupSockets sockets({lost.to(1), late.to(2)});
  InFlight in_flight(
      sockets, 0, 3,
      {.lap = milliseconds(5), .quiet = milliseconds(20), .long_quiet = milliseconds(200)});
  Works kept;
  std::mutex mutex;
  std::vector<std::string> ended;
  std::promise<void> all_ended;
  const auto watch = [&](const std::string& name, Needs needs) {
    in_flight.watched(endless_work(kept), needs)->getFuture()->addCallback([&, name](auto& future) {
      EXPECT_EQ(ErrorCode::kPeerLost, code_of(future.exception_ptr())) << name;
      const std::lock_guard lock(mutex);
      ended.push_back(name);
      if (ended.size() == 3) {
        all_ended.set_value();
      }
    });
  };
  watch("all-reduce", {});
  watch("broadcast from this rank", {Needs::Pattern::kTree, 0});
  watch("gather by a late rank", {Needs::Pattern::kRoot, 2});
  lost.close_peer();
  ASSERT_EQ(std::future_status::ready, all_ended.get_future().wait_for(kPatience));
  EXPECT_EQ("all-reduce", ended.front());
  EXPECT_EQ(1, in_flight.lost_rank());
}

TEST(InFlightTest, AnOperationMayWaitLongerThanTheOthers) {
  const Connection connection;
  const GroupSockets sockets({connection.to(1)});
  InFlight in_flight(sockets, 0, 2, {.lap = milliseconds(5), .timeout = milliseconds(20)});
  Works kept;
  const auto work = endless_work(kept);
  auto patient = std::async(std::launch::async, [&] { in_flight.await(work, {}, kPatience); });
  std::this_thread::sleep_for(milliseconds(100));  // the timeout passes
  work->getFuture()->markCompleted(c10::IValue(std::vector<at::Tensor>()));
  EXPECT_NO_THROW(patient.get());
}

TEST(InFlightTest, AnOperationMayWaitLessThanTheOthers) {
  const Connection connection;
  const GroupSockets sockets({connection.to(1)});
  InFlight in_flight(sockets, 0, 2, {.lap = milliseconds(5), .timeout = milliseconds(60'000)});
  Works kept;
  try {
    in_flight.await(endless_work(kept), {}, milliseconds(20));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(ErrorCode::kTimeout, e.code());
    EXPECT_STREQ("no answer within the timeout of 20 ms", e.message());
  }
}

/// A backend whose operations never end, and which has the tensors of the last one.
class EndlessBackend : public c10d::Backend {
 public:
  EndlessBackend() : Backend(0, 2) {}

  const std::string getBackendName() const override { return "endless"; }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& /*options*/) override {
    last = tensors;
    return endless_work(kept_);
  }

  std::vector<at::Tensor> last;

 private:
  Works kept_;
};

TEST(InFlightTest, AnEndedSparseAllReduceWritesNothingIntoTheGradient) {
  const GroupSockets sockets;
  InFlight in_flight(sockets, 0, 2, {});
  const auto endless = c10::make_intrusive<EndlessBackend>();
  const auto watched = detail::watched_backend(endless, in_flight);
  const at::Tensor gradient = at::eye(3).to_sparse();
  std::vector<at::Tensor> tensors = {gradient};
  const auto work = watched->allreduce(tensors);
  in_flight.abort();
  EXPECT_EQ(ErrorCode::kIllegalState, code_of(work->exception()));
  endless->last.at(0).copy_(at::ones({3, 3}).to_sparse());  // as Gloo does at the end
  EXPECT_TRUE(at::equal(at::eye(3), gradient.to_dense()));
}

TEST(GroupSocketsTest, RanksOfOneProcessKnowWhichOfThemIsLost) {
  std::promise<void> over;
  const auto is_over = over.get_future().share();
  std::atomic<int> seen{0};
  on_meshes(4, [&](int rank, detail::GlooMesh& mesh) {
    if (rank == 2) {
      mesh.backend.reset();
      is_over.wait();
      return;
    }
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (mesh.sockets.lost().empty() && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(std::vector<int64_t>{2}, mesh.sockets.lost()) << rank;
    if (++seen == 3) {
      over.set_value();
    }
    is_over.wait();
  });
}

TEST(GlooMeshTest, AnOperationDoesNotWaitForTheOneBefore) {
  std::promise<void> second_is_done;
  on_meshes(3, [&](int rank, detail::GlooMesh& mesh) {
    const auto broadcast_from = [&](int root) {
      std::vector<at::Tensor> tensors = {at::full({2}, rank)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      return mesh.backend->broadcast(tensors, options);
    };
    if (rank == 2) {
      second_is_done.get_future().wait_for(kPatience);
    }
    const auto from_late_rank = broadcast_from(2);
    const auto from_first_rank = broadcast_from(0);
    if (rank == 1) {
      from_first_rank->wait();
      EXPECT_FALSE(from_late_rank->isCompleted());
      second_is_done.set_value();
    }
    from_late_rank->wait();
    from_first_rank->wait();
  });
}

TEST(GlooMeshTest, OperationsCanBeEndedWithoutTheirPeers) {
  std::promise<void> over;
  const auto is_over = over.get_future().share();
  on_meshes(3, [&](int rank, detail::GlooMesh& mesh) {
    if (rank > 0) {
      is_over.wait();
      return;
    }
    std::vector<at::Tensor> one = {at::ones({2})};
    std::vector<at::Tensor> other = {at::ones({2})};
    const auto first = mesh.backend->allreduce(one);
    const auto second = mesh.backend->allreduce(other);
    detail::end_operations(*mesh.backend);
    EXPECT_ANY_THROW(first->wait(kPatience));
    EXPECT_ANY_THROW(second->wait(kPatience));
    const auto start = std::chrono::steady_clock::now();
    mesh.backend.reset();  // waits for operations that have not ended
    EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
    over.set_value();
  });
}

TEST(InFlightTest, ABroadcastOfGlooEndsAtItsRootWhileALateRankLives) {
  std::promise<void> over;
  const auto is_over = over.get_future().share();
  on_meshes(3, [&](int rank, detail::GlooMesh& mesh) {
    if (rank == 1) {
      mesh.backend.reset();
    }
    if (rank > 0) {
      is_over.wait();
      return;
    }
    {
      InFlight in_flight(mesh.sockets, 0, 3,
                         {.lap = milliseconds(20), .long_quiet = milliseconds(200)});
      const auto watched = detail::watched_backend(mesh.backend, in_flight);
      std::vector<at::Tensor> tensors = {at::ones({1 << 22})};
      c10d::BroadcastOptions options;
      const auto work = watched->broadcast(tensors, options);
      EXPECT_THROW(work->wait(), std::exception);
      in_flight.abort();  // Gloo's operation, since its destructor waits
    }
    over.set_value();
  });
}

}  // namespace
}  // namespace torchfeed
