// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace torchfeed {

/// Copies `rows[i]` of `source` to row i of `target`; rows are dense and `row_bytes` long.
void gather_rows(std::byte* target, const std::byte* source, std::size_t row_bytes,
                 std::span<const std::size_t> rows);

}  // namespace torchfeed
