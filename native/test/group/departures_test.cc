// SPDX-License-Identifier: Apache-2.0
#include "torch/mesh/departures.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "group/meshes.h"
#include "torch/group/in_flight.h"
#include "torch/group/watched_backend.h"

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
    own.in_flight.abort();  // the second operation, for which Gloo's destructor waits
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

}  // namespace
}  // namespace torchfeed
