// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace torchfeed {

/// A temporary folder for the files of one test, removed with its contents.
class RowFiles {
 public:
  RowFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "torchfeed-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  RowFiles(const RowFiles&) = delete;
  RowFiles& operator=(const RowFiles&) = delete;
  ~RowFiles() { std::filesystem::remove_all(folder_); }

  template <class Value>
  [[nodiscard]] std::string write(const std::string& name, const std::vector<Value>& values) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(Value)));
    return path;
  }

  [[nodiscard]] std::string path() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

/// Returns the number of files that this process has open.
inline int64_t open_files() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

}  // namespace torchfeed
