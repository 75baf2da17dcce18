// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace torchfeed {

// Constants that readers and writers of JPEG's entropy-coded data share.

/// Bits of the longest Huffman code.
constexpr int kLongestCode = 16;

/// Bits of the largest difference of two DC coefficients, and of the largest AC coefficient, for
/// samples of 8 bits.
constexpr int kMaxDcBits = 11;
constexpr int kMaxAcBits = 10;

/// The symbol for sixteen zeros in a row.
constexpr uint8_t kSixteenZeros = 0xf0;

/// The first byte of a marker, and the second one of the first of the eight restart markers.
constexpr uint8_t kMarker = 0xff;
constexpr uint8_t kFirstRestart = 0xd0;

/// Scans of a file that is read: each one of a progressive file costs a pass over all of it.
constexpr int kMaxScans = 100;

}  // namespace torchfeed
