// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "reduce/sparse_model.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;
constexpr std::chrono::microseconds kMeeting(300);

std::atomic<int> meeting{0};
std::mutex mutex;
std::set<std::thread::id> workers;

thread_local bool is_rank = false;

/// Waits a moment for another worker of the process.
void meet() {
  const int mine = meeting++;
  const auto limit = Clock::now() + kMeeting;
  while (meeting / 2 == mine / 2 && mine % 2 == 0 && Clock::now() < limit) {
  }
}

}  // namespace

namespace c10d {

/// Takes the place of libtorch's. A worker of `ProcessGroupGloo` calls it when it has ended an
/// operation, without a lock, and moves the text into a string that the group's workers share. A
/// text of more than 15 characters, as sparse operations have, is memory that the string then
/// owns, so two workers that do this at once free it twice. Here they would meet.
std::string opTypeToString(OpType type) {
  using Function = std::string (*)(OpType);
  static const auto kNext =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "_ZN4c10d14opTypeToStringB5cxx11ENS_6OpTypeE"));
  std::string text = kNext(type);
  if (!is_rank) {
    {
      const std::lock_guard lock(mutex);
      workers.insert(std::this_thread::get_id());
    }
    meet();
  }
  return text;
}

}  // namespace c10d

namespace torchfeed {
namespace {

TEST(GlooWorkers, WriteNoNamesOfOperationsThatTheyHaveEnded) {
  testing::on_gloo(kRanks, [](ProcessGroup& group) {
    is_rank = true;  // such threads begin operations, and others end them
    testing::train_sparse(group, /*tables=*/16, /*steps=*/16);
  });
  EXPECT_EQ(std::set<std::thread::id>(), workers);
}

}  // namespace
}  // namespace torchfeed
