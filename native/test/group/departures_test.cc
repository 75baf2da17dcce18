// SPDX-License-Identifier: Apache-2.0
#include "torch/mesh/departures.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "group/meshes.h"
#include "torch/flight/in_flight.h"
#include "torch/group/watched_backend.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

using std::chrono::milliseconds;
using testing::kPatience;
using testing::on_meshes;

constexpr std::chrono::hours kNever(1);

/// A rank of a group whose ranks tell each other when they leave.
struct TellingRank {
  TellingRank(detail::GlooMesh& from, int rank, int ranks, milliseconds quiet)
      : mesh(from),
        in_flight(mesh.sockets, rank, ranks,
                  {.lap = milliseconds(20), .quiet = quiet, .long_quiet = kNever}) {
    in_flight.exchange_departures(*mesh.backend);
  }

  c10::intrusive_ptr<c10d::Work> broadcast_from_first() {
    std::vector<at::Tensor> tensors = {at::ones({1 << 20})};
    return detail::watched_backend(mesh.backend, in_flight)
        ->broadcast(tensors, c10d::BroadcastOptions());
  }
  void await_losses(size_t ranks) const {
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (mesh.sockets.lost().size() < ranks && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  /// Returns the rank for which the group is lost, once Gloo has seen the end of a connection.
  int64_t await_lost_rank() {
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (in_flight.lost_rank() < 0 && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return in_flight.lost_rank();
  }
  void leave() {
    in_flight.leave();
    mesh.backend.reset();
  }

  detail::GlooMesh& mesh;
  InFlight in_flight;
};

/// A rank that has died; one that has left after `operations`, for the loss of `lost`.
detail::Loss died(int64_t rank) { return {rank, std::nullopt}; }
detail::Loss left(int64_t rank, int64_t operations, int64_t lost) {
  return {rank, detail::Departure{operations, lost}};
}

TEST(DeparturesTest, ARankThatLeftForAnotherIsNotTheCulprit) {
  constexpr auto kNone = detail::Departure::kNone;
  constexpr auto kUnknown = detail::Departure::kUnknown;
  EXPECT_EQ(-1, detail::culprit_of({}));
  EXPECT_EQ(-1, detail::culprit_of({left(1, 3, kUnknown)}));
  EXPECT_EQ(2, detail::culprit_of({left(1, 3, kUnknown), left(2, 3, kNone)}));
  EXPECT_EQ(2, detail::culprit_of({left(1, 5, kNone), left(2, 4, kNone)}));
  EXPECT_EQ(3, detail::culprit_of({left(1, 3, 3)}));
  EXPECT_EQ(3, detail::culprit_of({left(0, 3, 1), left(1, 3, 3), died(2)}));
  EXPECT_EQ(-1, detail::culprit_of({left(0, 3, 1), left(1, 3, kUnknown)}));
  EXPECT_EQ(-1, detail::culprit_of({left(0, 3, 1), left(1, 3, 0)}));
  EXPECT_EQ(2, detail::culprit_of({left(1, 3, kNone), died(2)}));
  EXPECT_EQ(-1, detail::culprit_of({died(1), died(2)}));
  EXPECT_EQ(2, detail::culprit_of({left(0, 3, kNone), left(2, 3, kNone)}, 2));
  EXPECT_EQ(1, detail::culprit_of({left(1, 3, kNone), left(2, 3, 1)}, 2));
  EXPECT_EQ(-1, detail::culprit_of({left(1, 3, kNone), left(2, 3, kUnknown)}, 2));
  EXPECT_EQ(3, detail::culprit_of({died(2), left(1, 3, 3)}, 2));
  EXPECT_EQ(2, detail::culprit_of({died(1), died(2)}, 2));
}

TEST(DeparturesTest, OnlyOperationsAfterThoseOfARankThatHasLeftFail) {
  std::promise<void> has_failed;
  on_meshes(3, [&](int rank, detail::GlooMesh& mesh) {
    TellingRank own(mesh, rank, 3, kNever);
    if (rank == 2) {
      has_failed.get_future().wait_for(kPatience);
    }
    const auto first = own.broadcast_from_first();
    if (rank == 0) {
      own.await_losses(1);
      EXPECT_THROW(own.broadcast_from_first()->wait(kPatience), std::exception);
      EXPECT_EQ(1, own.await_lost_rank());
      has_failed.set_value();
    }
    first->wait();
    if (rank == 1) {
      own.leave();
    }
    own.in_flight.abort();  // the second operation: Gloo's destructor waits for it
  });
}

TEST(DeparturesTest, OfARankThatDoesNotTellNobodyWaitsForALateOne) {
  std::promise<void> has_failed;
  on_meshes(3, [&](int rank, detail::GlooMesh& mesh) {
    TellingRank own(mesh, rank, 3, milliseconds(50));
    if (rank == 1) {
      mesh.sockets.shut_down();
    } else if (rank == 2) {
      has_failed.get_future().wait_for(kPatience);
    } else {
      EXPECT_THROW(own.broadcast_from_first()->wait(kPatience), std::exception);
      EXPECT_EQ(1, own.await_lost_rank());
      has_failed.set_value();
    }
    own.in_flight.abort();
  });
}

TEST(DeparturesTest, TheRankThatDiedIsNamedWhereAnotherLeftForIt) {
  std::barrier joined(4);
  std::promise<void> has_looked;
  const auto is_over = has_looked.get_future().share();
  on_meshes(4, [&](int rank, detail::GlooMesh& mesh) {
    TellingRank own(mesh, rank, 4, milliseconds(50));
    joined.arrive_and_wait();
    if (rank == 3) {
      mesh.sockets.shut_down();
      is_over.wait_for(kPatience);
    } else if (rank == 0) {
      own.await_losses(2);
      EXPECT_EQ(3, own.await_lost_rank());
      has_looked.set_value();
    } else {
      EXPECT_EQ(3, own.await_lost_rank());
      if (rank == 1) {
        own.leave();
      }
      is_over.wait_for(kPatience);
    }
    own.in_flight.abort();
  });
}

/// One of three ranks leaves an operation after the first has its message, and the rank between
/// them has failed in it: the first would wait for that one.
void await_messages_of_a_rank_that_failed(bool tells) {
  std::promise<void> ready;
  std::promise<void> has_failed;
  const auto is_over = has_failed.get_future().share();
  on_meshes(3, [&](int rank, detail::GlooMesh& mesh) {
    TellingRank own(mesh, rank, 3, tells ? milliseconds(kNever) : milliseconds(50));
    std::vector<at::Tensor> values = {at::zeros({1})};
    std::vector<at::Tensor> missing = {at::zeros({1})};
    if (rank == 0) {
      const auto last = mesh.backend->recv(values, 2, 0);
      const auto never = mesh.backend->recv(missing, 1, 0);
      ready.set_value();
      try {
        own.in_flight.await_messages({{never, 1}, {last, 2}});
        ADD_FAILURE() << "no failure";
      } catch (const Error& e) {
        EXPECT_EQ(ErrorCode::kPeerLost, e.code()) << e.what();
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
      EXPECT_EQ(2, own.in_flight.lost_rank());
      has_failed.set_value();
    } else if (rank == 2) {
      ready.get_future().wait_for(kPatience);
      const auto sent = mesh.backend->send(values, 0, 0);
      sent->wait();
      if (tells) {
        std::thread awaiting([&] {
          const auto never = mesh.backend->recv(missing, 1, 0);
          EXPECT_THROW(own.in_flight.await_messages({{sent, 0}, {never, 1}}), Error);
        });
        while (own.in_flight.is_idle()) {
          std::this_thread::yield();
        }
        own.in_flight.abort();
        awaiting.join();
      } else {
        mesh.sockets.shut_down();
      }
    }
    is_over.wait_for(kPatience);
    own.in_flight.abort();
  });
}

TEST(DeparturesTest, MessagesOfAnOperationThatARankLeftUndoneAreNotAwaited) {
  await_messages_of_a_rank_that_failed(/*tells=*/true);
}

TEST(DeparturesTest, MessagesOfAnOperationInWhichARankDiedAreNotAwaited) {
  await_messages_of_a_rank_that_failed(/*tells=*/false);
}

TEST(DeparturesTest, MessagesOfALateRankAreAwaitedWhereAnotherHasDoneItsPart) {
  std::promise<void> is_alone;
  on_meshes(3, [&](int rank, detail::GlooMesh& mesh) {
    TellingRank own(mesh, rank, 3, milliseconds(0));
    std::vector<at::Tensor> values = {at::ones({1})};
    std::vector<at::Tensor> others = {at::zeros({1})};
    if (rank == 0) {
      const auto late = mesh.backend->recv(others, 1, 0);
      const auto first = mesh.backend->recv(values, 2, 0);
      std::thread looking([&] {
        own.await_losses(1);
        std::this_thread::sleep_for(milliseconds(100));  // more than a lap
        is_alone.set_value();
      });
      own.in_flight.await_messages({{late, 1}, {first, 2}});
      EXPECT_EQ(1, others[0].item<float>());
      looking.join();
    } else {
      if (rank == 1) {
        is_alone.get_future().wait_for(kPatience);
      }
      own.in_flight.await_messages({{mesh.backend->send(values, 0, 0), 0}});
      own.leave();
    }
  });
}

}  // namespace
}  // namespace torchfeed
