// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/rows/row_column.h"

namespace torchfeed {

/// Returns the description of a row.
/// @throws Error  if a size is negative, or the row is larger than any memory
RowShape row_shape(at::ScalarType dtype, std::vector<int64_t> sizes);

/// Returns dtypes and shapes as text, for messages: `[float32 [1, 28, 28], int64 []]`.
std::string described(const std::vector<RowShape>& columns);

}  // namespace torchfeed
