// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/stream_copy.h"

namespace torchfeed {

/// The distance from the row that is read to the one that is prefetched. Rows are random: otherwise
/// each begins with a cache miss that the processor cannot predict.
constexpr std::size_t kRowsAhead = 4;

/// Prefetches the beginning of a row.
///
/// @param lines  of the caches, at most; the processor notices the next lines
inline void prefetch_row(const std::byte* row, std::size_t row_bytes, std::size_t lines) {
  const std::size_t end = std::min(row_bytes, lines * kCacheLine);
  for (std::size_t done = 0; done < end; done += kCacheLine) {
    __builtin_prefetch(row + done);
  }
}

}  // namespace torchfeed
