// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/rows/wanted_rows.h"
#include "core/stores.h"

namespace torchfeed {

/// Copies each wanted row of `source` to its place in `target`; rows are dense and `row_bytes`
/// long. Checks `stop` every few MB, and stops and returns false once it is set.
bool gather_rows(std::byte* target, const std::byte* source, std::size_t row_bytes,
                 const WantedRows& wanted, const std::atomic<bool>& stop,
                 Stores stores = Stores::kCached);

}  // namespace torchfeed
