// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torchfeed {

/// Replaces the contents of `content` by those of a regular file of at most 2^30 bytes.
///
/// @throws Error  of code `kUnreadable` if it cannot be read
void read_image_file(const std::string& path, std::vector<uint8_t>& content);

}  // namespace torchfeed
