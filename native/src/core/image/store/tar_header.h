// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace torchfeed {

/// The bytes of a header of a tar file, and of each block behind it.
constexpr int64_t kTarBlock = 512;

using TarBlock = std::array<uint8_t, kTarBlock>;

/// Types of members.
constexpr char kHardLink = '1';
constexpr char kSymbolicLink = '2';

/// Returns the type of a member.
char tar_type(const TarBlock& header);

/// Returns the number of bytes behind a header; nothing if its field has none.
std::optional<int64_t> tar_size(const TarBlock& header);

/// Returns the path of a member, of at most 256 bytes.
std::string tar_path(const TarBlock& header);

/// Returns whether the sum of the header's bytes, its own counted as spaces, is the stored one.
/// Programs of old systems add them as signed bytes, which Python and GNU's tar read, too.
bool is_intact(const TarBlock& header);

/// Returns whether a block is a header, perhaps a damaged one, and no other bytes.
bool is_tar_header(const TarBlock& block);

/// Returns whether a further block of the map of a sparse member follows a header, in GNU's format.
bool has_more_map(const TarBlock& header);

/// Returns whether a further block follows a block of such a map.
bool map_has_more_map(const TarBlock& map);

/// Refuses a block that is no header if it begins as a packed file, or one that stands in for it.
///
/// @throws Error  of code `kUnreadable`, with the remedy
void refuse_packed(const TarBlock& block);

/// The statements of a pax header about the next member.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<int64_t> size;
  bool is_sparse = false;
  std::optional<std::string> sparse_path;  // in place of one that GNU's tar makes up
};

/// Reads records of the form `LENGTH KEY=VALUE\n`, whose length counts all of it.
///
/// @throws Error  of code `kUnreadable` if they are damaged
PaxRecords pax_records(std::string_view text);

}  // namespace torchfeed
