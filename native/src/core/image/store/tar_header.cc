// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/tar_header.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/image/decode/image_source.h"

namespace torchfeed {
namespace {

/// The fields of a header (POSIX.1-1988, ustar).
constexpr std::size_t kNameBytes = 100;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kSizeBytes = 12;
constexpr std::size_t kTarChecksumAt = 148;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345;
constexpr std::size_t kPrefixBytes = 155;

/// The flags of GNU's sparse members.
constexpr std::size_t kMoreMapAt = 482;
constexpr std::size_t kMoreMapOfMapAt = 504;

/// Returns the text of a field, up to its first 0.
std::string_view text(const TarBlock& header, std::size_t at, std::size_t bytes) {
  const auto* const begin = reinterpret_cast<const char*>(header.data() + at);
  return {begin, ::strnlen(begin, bytes)};
}

/// Returns a number in octal digits between spaces, or, after a byte 0x80, in binary.
std::optional<int64_t> number(const TarBlock& header, std::size_t at, std::size_t bytes) {
  if (header[at] == 0x80) {
    int64_t value = 0;
    for (std::size_t i = 1; i < bytes; ++i) {
      if (value > std::numeric_limits<int64_t>::max() >> 8) {
        return std::nullopt;
      }
      value = value << 8 | header[at + i];
    }
    return value;
  }
  std::string_view digits = text(header, at, bytes);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find(' '));
  int64_t value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

/// The first bytes of a file that a program packed as a whole, and its names.
struct Packing {
  std::string_view magic;
  std::string_view program;
  std::string_view remedy;
};

constexpr std::array<Packing, 6> kPackings{{{"\x1f\x8b", "gzip", "gunzip"},
                                            {"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
                                            {"BZh", "bzip2", "bunzip2"},
                                            {"\x04\x22\x4d\x18", "lz4", "unlz4"},
                                            {"\x1f\x9d", "compress", "uncompress"},
                                            {"\xfd"
                                             "7zXZ",
                                             "xz", "unxz"}}};

}  // namespace

char tar_type(const TarBlock& header) { return static_cast<char>(header[kTypeAt]); }

std::optional<int64_t> tar_size(const TarBlock& header) {
  return number(header, kSizeAt, kSizeBytes);
}

std::string tar_path(const TarBlock& header) {
  std::string name(text(header, 0, kNameBytes));
  const bool has_prefix = text(header, kMagicAt, 6) == "ustar" && header[kPrefixAt] != 0;
  return has_prefix ? std::string(text(header, kPrefixAt, kPrefixBytes)) + '/' + name : name;
}

bool is_intact(const TarBlock& header) {
  TarBlock summed = header;
  std::fill_n(summed.begin() + kTarChecksumAt, kChecksumBytes, static_cast<uint8_t>(' '));
  const int64_t sum = std::accumulate(summed.begin(), summed.end(), int64_t{0});
  const int64_t signed_sum =
      std::accumulate(summed.begin(), summed.end(), int64_t{0},
                      [](int64_t all, uint8_t byte) { return all + static_cast<int8_t>(byte); });
  const std::optional<int64_t> stored = number(header, kTarChecksumAt, kChecksumBytes);
  return stored == sum || stored == signed_sum;
}

bool is_tar_header(const TarBlock& block) {
  return text(block, kMagicAt, 5) == "ustar" || is_intact(block);
}

bool has_more_map(const TarBlock& header) { return header[kMoreMapAt] != 0; }

bool map_has_more_map(const TarBlock& map) { return map[kMoreMapOfMapAt] != 0; }

PaxRecords pax_records(std::string_view text) {
  PaxRecords records;
  while (!text.empty()) {
    std::size_t length = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto key = static_cast<std::size_t>(end.ptr - text.data()) + 1;
    if (end.ec != std::errc() || length > text.size() || length <= key) {
      throw_unreadable("an extended header of it is damaged");
    }
    const std::string_view record = text.substr(key, length - key - 1);
    if (record.starts_with("path=")) {
      records.path = record.substr(5);
    } else if (record.starts_with("GNU.sparse.")) {
      records.is_sparse = true;
      constexpr std::string_view kName = "GNU.sparse.name=";
      if (record.starts_with(kName)) {
        records.sparse_path = record.substr(kName.size());
      }
    } else if (record.starts_with("size=")) {
      int64_t size = 0;
      std::from_chars(record.data() + 5, record.data() + record.size(), size);
      records.size = size;
    }
    text.remove_prefix(length);
  }
  if (records.sparse_path) {
    records.path = records.sparse_path;
  }
  return records;
}

void refuse_packed(const TarBlock& block) {
  refuse_placeholder(block);
  const std::string_view bytes(reinterpret_cast<const char*>(block.data()), block.size());
  for (const Packing& packing : kPackings) {
    if (bytes.starts_with(packing.magic)) {
      throw_unreadable("it is compressed by " + std::string(packing.program) +
                       ", but samples of a tar file are read in any order; unpack it with " +
                       std::string(packing.remedy));
    }
  }
}

}  // namespace torchfeed
