// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "golden_folder.h"

namespace torchfeed::testing {

/// A line of a golden file: fields between spaces, read from left to right.
class GoldenLine {
 public:
  explicit GoldenLine(const std::string& text) : text_(text), fields_(text) {}

  std::string word() {
    std::string field;
    EXPECT_TRUE(fields_ >> field) << "too short: " << text_;
    return field;
  }
  int64_t integer() { return std::stoll(word()); }
  /// Returns a number in any of C's forms.
  double number() { return std::strtod(word().c_str(), nullptr); }
  bool at_end() { return (fields_ >> std::ws).eof(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::istringstream fields_;
};

/// Returns the lines of a golden file that begin with the word `kind`, from after that word.
inline std::vector<GoldenLine> golden_lines(const std::string& file, const std::string& kind) {
  std::ifstream in(golden_folder() / file);
  std::vector<GoldenLine> lines;
  for (std::string text; std::getline(in, text);) {
    if (text.starts_with(kind + ' ')) {
      lines.emplace_back(text.substr(kind.size() + 1));
    }
  }
  EXPECT_FALSE(lines.empty()) << "no line of kind " << kind << " in " << file;
  return lines;
}

/// Returns the CRC-32 of zlib, continued from the bytes before.
inline uint32_t crc32(const void* data, size_t bytes, uint32_t before = 0) {
  static const auto table = [] {
    std::array<uint32_t, 256> remainders{};
    for (uint32_t byte = 0; byte < remainders.size(); ++byte) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) {
        crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
      }
      remainders[byte] = crc;
    }
    return remainders;
  }();
  uint32_t crc = ~before;
  for (size_t i = 0; i < bytes; ++i) {
    crc = (crc >> 8) ^ table[(crc ^ static_cast<const uint8_t*>(data)[i]) & 0xff];
  }
  return ~crc;
}

}  // namespace torchfeed::testing
