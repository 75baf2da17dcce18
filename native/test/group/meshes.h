// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "torch/mesh/gloo_mesh.h"

namespace torchfeed::testing {

/// More than a wait of a test that passes takes.
constexpr std::chrono::seconds kPatience(20);

/// Runs `body` on ranks of this process, each with connections of its own.
inline void on_meshes(int ranks, const std::function<void(int, detail::GlooMesh&)>& body) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto mesh = detail::connect_gloo(
          store, rank, ranks,
          {.timeout = std::chrono::milliseconds(60'000), .host = "127.0.0.1", .interface = ""});
      body(rank, mesh);
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

}  // namespace torchfeed::testing
