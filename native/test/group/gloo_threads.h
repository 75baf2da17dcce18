// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "torchfeed/process_group.h"

namespace torchfeed::testing {

using Body = std::function<void(ProcessGroup&)>;

/// In milliseconds: much less than the timeouts of 30 s or more, and enough for a busy machine and
/// a sanitizer.
constexpr double kPromptly = 20'000;

/// Connects `ranks` ranks of this process over Gloo and runs `body` for each, on its own thread;
/// rethrows the first failure.
inline void on_gloo(int ranks, const Body& body, int64_t milliseconds = 60'000,
                    bool has_python_ranks = false) {
  std::signal(SIGPIPE, SIG_IGN);  // as in the JVM: Gloo may still write to an aborted connection
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::exception_ptr> failures(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto group = ranks == 1 ? ProcessGroup::adopt(0, 0, 1)
                                      : ProcessGroup::connect(
                                            reinterpret_cast<int64_t>(store.get()), "group", rank,
                                            ranks, milliseconds, "127.0.0.1", "", has_python_ranks);
        body(*group);
      } catch (...) {
        failures[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

inline double milliseconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace torchfeed::testing
