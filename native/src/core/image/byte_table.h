// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/image/pixels.h"

namespace torchfeed {

/// A new value for each byte.
using ByteTable = std::array<uint8_t, 256>;

/// Returns the table of a function of `int`, whose results are bytes.
template <class Function>
[[nodiscard]] ByteTable table_of(const Function& function) {
  ByteTable table{};
  for (int i = 0; i < 256; ++i) {
    table[static_cast<size_t>(i)] = static_cast<uint8_t>(function(i));
  }
  return table;
}

/// Replaces each byte of the picture.
inline void replace(Pixels pixels, const ByteTable& table) {
  uint8_t* const end = pixels.data + 3 * pixels.width * pixels.height;
  for (uint8_t* byte = pixels.data; byte != end; ++byte) {
    *byte = table[*byte];
  }
}

/// Replaces each byte by the table of its channel.
inline void replace(Pixels pixels, const std::array<ByteTable, 3>& tables) {
  uint8_t* const end = pixels.data + 3 * pixels.width * pixels.height;
  for (uint8_t* pixel = pixels.data; pixel != end; pixel += 3) {
    pixel[0] = tables[0][pixel[0]];
    pixel[1] = tables[1][pixel[1]];
    pixel[2] = tables[2][pixel[2]];
  }
}

}  // namespace torchfeed
