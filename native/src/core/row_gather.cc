// SPDX-License-Identifier: Apache-2.0
#include "core/row_gather.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/stream_copy.h"

namespace torchfeed {
namespace {

constexpr std::size_t kLine = 64;
// Rows are random: without prefetching, each begins with a cache miss that the processor cannot
// predict.
constexpr std::size_t kRowsAhead = 4;
constexpr std::size_t kLinesAhead = 8;
constexpr std::size_t kMostBytesAtOnce = std::size_t{4} << 20;
// Shorter rows gain nothing: cache lines shared with the next row are not streamed.
constexpr std::size_t kLeastStreamed = 4096;

void prefetch_row(const std::byte* row, std::size_t row_bytes) {
  for (std::size_t line = 0; line < kLinesAhead && line * kLine < row_bytes; ++line) {
    __builtin_prefetch(row + line * kLine);
  }
}

/// Copies rows of a fixed size, so that each copy compiles to one load and one store.
template <std::size_t kBytes>
void gather_fixed(std::byte* target, const std::byte* source, std::span<const std::size_t> rows) {
  for (const std::size_t row : rows) {
    std::memcpy(target, source + row * kBytes, kBytes);
    target += kBytes;
  }
}

void gather_streamed(std::byte* target, const std::byte* source, std::size_t row_bytes,
                     std::span<const std::size_t> rows) {
  for (const std::size_t row : rows) {
    stream_copy(target, source + row * row_bytes, row_bytes);
    target += row_bytes;
  }
  end_streaming();
}

void gather_some(std::byte* target, const std::byte* source, std::size_t row_bytes,
                 std::span<const std::size_t> rows, Stores stores) {
  if (stores == Stores::kStreamed && row_bytes >= kLeastStreamed) {
    return gather_streamed(target, source, row_bytes, rows);
  }
  switch (row_bytes) {
    case 1:
      return gather_fixed<1>(target, source, rows);
    case 4:
      return gather_fixed<4>(target, source, rows);
    case 8:
      return gather_fixed<8>(target, source, rows);
    default:
      break;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kRowsAhead < rows.size()) {
      prefetch_row(source + rows[i + kRowsAhead] * row_bytes, row_bytes);
    }
    std::memcpy(target + i * row_bytes, source + rows[i] * row_bytes, row_bytes);
  }
}

bool stopped(const std::atomic<bool>& stop) { return stop.load(std::memory_order_relaxed); }

bool copy_long_row(std::byte* target, const std::byte* source, std::size_t row_bytes,
                   const std::atomic<bool>& stop, Stores stores) {
  for (std::size_t done = 0; done < row_bytes; done += kMostBytesAtOnce) {
    if (stopped(stop)) {
      return false;
    }
    const std::size_t part = std::min(kMostBytesAtOnce, row_bytes - done);
    constexpr std::array<std::size_t, 1> kThis = {0};
    gather_some(target + done, source + done, part, kThis, stores);
  }
  return true;
}

}  // namespace

bool gather_rows(std::byte* target, const std::byte* source, std::size_t row_bytes,
                 std::span<const std::size_t> rows, const std::atomic<bool>& stop, Stores stores) {
  if (row_bytes > kMostBytesAtOnce) {
    return std::all_of(rows.begin(), rows.end(), [&](std::size_t row) {
      const bool copied = copy_long_row(target, source + row * row_bytes, row_bytes, stop, stores);
      target += row_bytes;
      return copied;
    });
  }
  if (row_bytes == 0) {
    return true;
  }
  const std::size_t most = kMostBytesAtOnce / row_bytes;
  for (std::size_t done = 0; done < rows.size(); done += most) {
    if (stopped(stop)) {
      return false;
    }
    gather_some(target + done * row_bytes, source, row_bytes,
                rows.subspan(done, std::min(most, rows.size() - done)), stores);
  }
  return true;
}

}  // namespace torchfeed
