// SPDX-License-Identifier: Apache-2.0
#include "core/row_gather.h"

#include <cstring>

namespace torchfeed {
namespace {

constexpr std::size_t kLine = 64;
// Rows are random: without help each begins with a miss that the processor cannot foresee.
constexpr std::size_t kRowsAhead = 4;
constexpr std::size_t kLinesAhead = 8;

void prefetch_row(const std::byte* row, std::size_t row_bytes) {
  for (std::size_t line = 0; line < kLinesAhead && line * kLine < row_bytes; ++line) {
    __builtin_prefetch(row + line * kLine);
  }
}

/// A fixed size turns the copy into one load and one store.
template <std::size_t kBytes>
void gather_fixed(std::byte* target, const std::byte* source, std::span<const std::size_t> rows) {
  for (const std::size_t row : rows) {
    std::memcpy(target, source + row * kBytes, kBytes);
    target += kBytes;
  }
}

}  // namespace

void gather_rows(std::byte* target, const std::byte* source, std::size_t row_bytes,
                 std::span<const std::size_t> rows) {
  switch (row_bytes) {
    case 0:
      return;
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

}  // namespace torchfeed
