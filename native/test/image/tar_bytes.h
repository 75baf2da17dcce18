// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/image/store/tar_file.h"
#include "image/image_files.h"
#include "torchfeed/error.h"

namespace torchfeed::testing {

/// The message of the typed error of a file that cannot be opened, without its path.
inline std::string problem_of(const std::string& path) {
  try {
    TarFile file(path);
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCode::kUnreadable, error.code()) << error.what();
    const std::string message = error.message();
    const std::string start = path + " cannot be opened: ";
    EXPECT_TRUE(message.starts_with(start)) << message;
    return message.substr(std::min(start.size(), message.size()));
  }
  return "";
}

/// Writes the checksum of a header, so that its other fields are looked at.
inline void set_checksum(uint8_t* header) {
  std::fill_n(header + 148, 8, uint8_t{' '});
  const auto sum = std::accumulate(header, header + 512, 0U);
  std::snprintf(reinterpret_cast<char*>(header + 148), 8, "%06o", sum);
}

inline void append_header(Bytes& tar, const std::string& name, std::size_t bytes, char type) {
  Bytes header(512);
  std::copy(name.begin(), name.end(), header.begin());
  std::snprintf(reinterpret_cast<char*>(header.data() + 124), 12, "%011zo", bytes);
  header[156] = static_cast<uint8_t>(type);
  set_checksum(header.data());
  tar.insert(tar.end(), header.begin(), header.end());
}

/// Members of a tar file, which the zeros at the end may follow.
inline Bytes members_of(const std::vector<std::pair<std::string, std::string>>& members) {
  Bytes tar;
  for (const auto& [name, content] : members) {
    append_header(tar, name, content.size(), '0');
    tar.insert(tar.end(), content.begin(), content.end());
    tar.resize((tar.size() + 511) / 512 * 512);
  }
  return tar;
}

/// A tar file of small members.
inline Bytes tar_of(const std::vector<std::pair<std::string, std::string>>& members) {
  Bytes tar = members_of(members);
  tar.resize(tar.size() + 1024);
  return tar;
}

}  // namespace torchfeed::testing
