// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace torchfeed {

/// Returns the CRC-32 of zlib, gzip and PNG, continued from the bytes before.
[[nodiscard]] uint32_t crc32(std::span<const uint8_t> bytes, uint32_t before = 0);

}  // namespace torchfeed
