// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/log_filter.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace torchfeed {
namespace {

constexpr const char* kVariable = "TORCH_CPP_LOG_LEVEL";

class Recorder final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { text += warning.msg() + "\n"; }
  std::string text;
};

class LogFilterTest : public ::testing::Test {
 protected:
  LogFilterTest() : original_(std::cout.rdbuf(output_.rdbuf())) { unsetenv(kVariable); }
  ~LogFilterTest() override {
    std::cout.rdbuf(original_);
    unsetenv(kVariable);
  }

  static void print_as_gloo() {
    std::cout << "[Gloo] Rank " << 0 << " is connected to " << 1 << " peer ranks. "
              << "Expected number of connected peer ranks is : " << 1 << std::endl;
  }

  static void warn() {
    TORCH_WARN("sparse is in beta state");
    TORCH_WARN_DEPRECATION("old");
  }

  std::ostringstream output_;
  Recorder recorder_;
  c10::WarningUtils::WarningHandlerGuard guard_{&recorder_};

 private:
  std::streambuf* const original_;
};

TEST_F(LogFilterTest, HidesAnnouncementsAndPassesOnTheRest) {
  {
    const auto filter = LogFilter::create();
    std::cout << "before\n";
    print_as_gloo();
    std::cout << "[Gloo] Rank 0 is lost\n" << '[' << std::flush << "Gloo\n[Gl";
    warn();
    TORCH_WARN("wrong");
  }
  print_as_gloo();
  EXPECT_EQ(output_.str(),
            "before\n[Gloo] Rank 0 is lost\n[Gloo\n[Gl[Gloo] Rank 0 is connected to 1 peer ranks. "
            "Expected number of connected peer ranks is : 1\n");
  EXPECT_EQ(recorder_.text, "wrong\n");
}

TEST_F(LogFilterTest, HidesNothingOfOtherThreadsOrAfterwards) {
  auto filter = LogFilter::create();
  const auto inner = LogFilter::create();
  std::thread([] {
    std::cout << "[Gloo] Rank 1 is connected to 1" << std::flush;
    LogFilter::create().reset();
    std::cout << " here\n";
  }).join();
  print_as_gloo();
  EXPECT_EQ(output_.str(), "[Gloo] Rank 1 is connected to 1 here\n");
}

/// Returns the store's output to the standard error when its server is gone.
std::string errors_of_a_lost_store() {
  std::ostringstream errors;
  std::streambuf* const original = std::cerr.rdbuf(errors.rdbuf());
  {
    const auto own = LogFilter::create();
    c10d::TCPStoreOptions options;
    options.isServer = true;
    options.waitWorkers = false;
    auto server = std::make_unique<c10d::TCPStore>("127.0.0.1", options);
    options.isServer = false;
    options.port = server->getPort();
    c10d::TCPStore client("127.0.0.1", options);
    server.reset();
    EXPECT_ANY_THROW({
      client.set("key", {});
      (void)client.get("key");
    });
    std::cerr << "[W is no warning\n";
    std::thread([] { std::cerr << "[W1 a.cc:1] [c10d] of another thread\n"; }).join();
  }
  std::cerr.rdbuf(original);
  return errors.str();
}

TEST_F(LogFilterTest, HidesWarningsOfAStoreThatAlsoThrows) {
  const std::string others = "[W is no warning\n[W1 a.cc:1] [c10d] of another thread\n";
  EXPECT_EQ(errors_of_a_lost_store(), others);
  setenv(kVariable, "WARNING", 1);
  EXPECT_NE(errors_of_a_lost_store().find("] [c10d] "), std::string::npos);
  EXPECT_GT(errors_of_a_lost_store().size(), others.size());
}

TEST_F(LogFilterTest, HidesTheStackTracesOfErrorsOfAStore) {
  const std::string error = "[E1 a.cc:1] [c10d] the store is lost";
  const std::string trace = "\nException raised from get at a.cc:1:\nframe #0: c10::Error\n\n";
  std::ostringstream errors;
  std::streambuf* const original = std::cerr.rdbuf(errors.rdbuf());
  {
    const auto filter = LogFilter::create();
    std::cerr << error + trace << error + "\n" << "[E1 a.cc:1] another" + trace;
  }
  std::cerr << error + trace;
  std::cerr.rdbuf(original);
  EXPECT_EQ(errors.str(), error + "\n" + error + "\n[E1 a.cc:1] another" + trace + error + trace);
}

TEST_F(LogFilterTest, TheVariableShowsWhatItAsksFor) {
  setenv(kVariable, "warning", 1);
  {
    const auto filter = LogFilter::create();
    print_as_gloo();
    warn();
  }
  EXPECT_EQ(output_.str(), "");
  EXPECT_EQ(recorder_.text, "sparse is in beta state\nold\n");

  setenv(kVariable, "INFO", 1);
  const auto filter = LogFilter::create();
  print_as_gloo();
  EXPECT_NE(output_.str(), "");
}

}  // namespace
}  // namespace torchfeed
