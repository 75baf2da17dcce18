// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/rows/row_recipe.h"
#include "core/stores.h"
#include "core/stream_copy.h"

namespace torchfeed {

constexpr std::size_t kByteValues = 256;

/// The number of 4 or 2 bytes that each byte of a channel becomes. A table is exact for any
/// formula, but vector instructions compute faster than they look up.
struct ByteResults {
  float factor;
  ElementScale scale;
  float reciprocal;  // of the standard deviation
  /// The result of each byte; results of 2 bytes precede their lower bytes, then their upper ones.
  alignas(kCacheLine) std::array<std::byte, kByteValues * sizeof(float)> table;

  /// Stores results of 2 bytes.
  void set_halves(const std::array<uint16_t, kByteValues>& results);
};

using ByteConversion = void (*)(std::byte* target, const std::byte* source, std::size_t count,
                                const ByteResults& results, Stores stores);

/// A way to convert bytes to the numbers of a table.
struct ByteKernel {
  std::string_view name;
  ByteConversion convert;
};

/// Returns the kernels that this processor has for results of a type, the fastest first. The last
/// one reads the table. One that computes must be compared with the table before it is used: the
/// quotient is a product with the reciprocal and one correction, which is right in almost all
/// cases, and bytes are taken to be unsigned.
///
/// @param result  `kFloat32`, `kFloat16` or `kBFloat16`
std::vector<ByteKernel> byte_kernels(Element result);

/// Returns the first of the kernels that gives the results of all tables bit for bit.
ByteConversion exact_kernel(Element result, const std::vector<ByteResults>& channels);

}  // namespace torchfeed
