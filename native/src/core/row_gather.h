// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace torchfeed {

/// Copies `rows[i]` of `source` to row i of `target`; rows are dense and `row_bytes` long. Looks at
/// `stop` every few MB, and gives up and returns false once it is set.
bool gather_rows(std::byte* target, const std::byte* source, std::size_t row_bytes,
                 std::span<const std::size_t> rows, const std::atomic<bool>& stop);

}  // namespace torchfeed
