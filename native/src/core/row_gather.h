// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace torchfeed {

/// Where gathered rows go.
enum class Stores {
  kCached,    // through the caches, for a reader that comes soon
  kStreamed,  // past them
};

/// Copies `rows[i]` of `source` to row i of `target`; rows are dense and `row_bytes` long. Looks at
/// `stop` every few MB, and gives up and returns false once it is set.
bool gather_rows(std::byte* target, const std::byte* source, std::size_t row_bytes,
                 std::span<const std::size_t> rows, const std::atomic<bool>& stop,
                 Stores stores = Stores::kCached);

}  // namespace torchfeed
