// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "group/thread_backend.h"
#include "torchfeed/error.h"
#include "torchfeed/process_group.h"

namespace torchfeed::testing {

/// Runs `body` once for each of `ranks` ranks, each on its own thread; rethrows the first failure.
inline void on_ranks(int ranks, const std::function<void(ProcessGroup&, Exchange&)>& body) {
  auto exchange = std::make_shared<Exchange>(static_cast<size_t>(ranks));
  std::vector<std::exception_ptr> failures(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        auto backend = c10::make_intrusive<ThreadBackend>(exchange, rank, ranks);
        auto group = ProcessGroup::adopt(reinterpret_cast<int64_t>(backend.get()), rank, ranks);
        backend.reset();  // the group owns it now
        body(*group, *exchange);
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

template <class Body>
void expect_error(ErrorCode code, const std::string& part, Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(code, e.code()) << e.what();
    EXPECT_NE(std::string::npos, std::string(e.what()).find(part)) << e.what();
    EXPECT_EQ(std::string::npos, std::string(e.what()).find("Exception raised from")) << e.what();
    return;
  }
  ADD_FAILURE() << "nothing was thrown; expected: " << part;
}

}  // namespace torchfeed::testing
