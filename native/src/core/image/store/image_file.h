// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torchfeed {

/// Replaces `content` by the bytes of a regular file, at most 2^30.
///
/// @throws Error  of code `kUnreadable` if it cannot be read
void read_image_file(const std::string& path, std::vector<uint8_t>& content);

}  // namespace torchfeed
