// SPDX-License-Identifier: Apache-2.0
#include "core/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT: csignal has no sigaction
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/file_descriptor.h"
#include "feed/row_files.h"

namespace torchfeed {
namespace {

constexpr std::size_t kPage = 4096;
constexpr auto kAlone = MappedFile::Faults::kAlone;

using Bytes = std::vector<unsigned char>;

/// A file of pages, each full of its number.
class Pages {
 public:
  explicit Pages(std::size_t pages) {
    Bytes content(pages * kPage);
    for (std::size_t i = 0; i < content.size(); ++i) {
      content[i] = static_cast<unsigned char>(i / kPage);
    }
    path_ = files_.write("pages", content);
    bytes_ = static_cast<int64_t>(content.size());
  }

  [[nodiscard]] MappedFile mapped() const {
    const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    return {file.value(), bytes_, kAlone};
  }

  void truncate(std::size_t pages) const { std::filesystem::resize_file(path_, pages * kPage); }

 private:
  RowFiles files_;
  std::string path_;
  int64_t bytes_;
};

bool copies(const MappedFile& file, std::size_t page, std::size_t bytes = kPage) {
  Bytes target(bytes);
  const bool is_read = file.copy(reinterpret_cast<std::byte*>(target.data()),
                                 static_cast<int64_t>(page * kPage), bytes);
  EXPECT_TRUE(!is_read || target == Bytes(bytes, static_cast<unsigned char>(page)));
  return is_read;
}

TEST(MappedFile, CopiesBytes) {
  const MappedFile file = Pages(3).mapped();
  ASSERT_TRUE(file.is_mapped());
  EXPECT_TRUE(copies(file, 0));
  EXPECT_TRUE(copies(file, 2));
  EXPECT_TRUE(copies(file, 1, 7));
}

TEST(MappedFile, SaysWhichBytesAreGone) {
  const Pages pages(4);
  const MappedFile file = pages.mapped();
  pages.truncate(2);
  for (int times = 0; times < 3; ++times) {
    EXPECT_TRUE(copies(file, 1));
    EXPECT_FALSE(copies(file, 2));
    EXPECT_FALSE(copies(file, 3));
    Bytes all(4 * kPage);
    EXPECT_FALSE(file.copy(reinterpret_cast<std::byte*>(all.data()), 0, all.size()));
  }
}

TEST(MappedFile, LeavesTheSignalsOfAThreadAsTheyWere) {
  const Pages pages(2);
  const MappedFile file = pages.mapped();
  pages.truncate(1);
  sigset_t before;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &before), 0);
  EXPECT_FALSE(copies(file, 1));
  sigset_t after;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &after), 0);
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

TEST(MappedFile, FailsInEachThreadAlone) {
  const Pages pages(64);
  const MappedFile file = pages.mapped();
  pages.truncate(32);
  std::atomic<int> read{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (std::size_t page = 0; page < 64; ++page) {
        read += copies(file, page) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(read, 4 * 32);
}

TEST(MappedFile, IsMappedOnlyWithBytes) {
  const RowFiles files;
  const FileDescriptor file(::open(files.write("none", Bytes{}).c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(MappedFile(file.value(), 0, kAlone).is_mapped());
  EXPECT_FALSE(MappedFile(-1, 10, kAlone).is_mapped());
  EXPECT_FALSE(MappedFile().is_mapped());
}

TEST(MappedFile, LeavesMappingsToOthers) {
  const Pages pages(1);
  std::vector<MappedFile> files;
  while (files.empty() || files.back().is_mapped()) {
    ASSERT_LT(files.size(), 5000U);
    files.push_back(pages.mapped());
  }
  files.clear();
  EXPECT_TRUE(pages.mapped().is_mapped());
}

/// Reads memory behind the end of its file.
void fault() {
  const RowFiles files;
  const FileDescriptor file(
      ::open(files.write("other", Bytes(2 * kPage)).c_str(), O_RDWR | O_CLOEXEC));
  const auto* const other = static_cast<const volatile unsigned char*>(
      ::mmap(nullptr, 2 * kPage, PROT_READ, MAP_SHARED, file.value(), 0));
  if (::ftruncate(file.value(), 0) == 0) {
    const unsigned char byte = *other;
    std::_Exit(byte);
  }
}

TEST(MappedFileDeathTest, LeavesOtherFaultsToTheHandlerBefore) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        struct sigaction own {};
        own.sa_sigaction = [](int /*signal*/, siginfo_t* info, void* /*context*/) {
          std::_Exit(info->si_addr != nullptr ? 42 : 41);
        };
        own.sa_flags = SA_SIGINFO;
        ::sigaction(SIGBUS, &own, nullptr);
        std::ignore = copies(Pages(1).mapped(), 0);
        fault();
      },
      testing::ExitedWithCode(42), "");
}

TEST(MappedFileDeathTest, EndsTheProcessWhereNoHandlerWasBefore) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, SIG_DFL);
        std::ignore = copies(Pages(1).mapped(), 0);
        fault();
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST(MappedFileDeathTest, MapsNothingIfTheEnvironmentSaysSo) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ::setenv("TORCHFEED_MAPPED_FILES", "0", 1);
        std::_Exit(Pages(1).mapped().is_mapped() ? 1 : 42);
      },
      testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace torchfeed
