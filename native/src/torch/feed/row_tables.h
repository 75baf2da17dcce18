// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/rows/row_table.h"
#include "torchfeed/export.h"
#include "torchfeed/row_set.h"

namespace torchfeed {

/// The tables behind the facade `RowSet`.
class RowTables {
 public:
  /// Returns a set of the rows of a table: the last step of every function that makes a set.
  TORCHFEED_API static std::unique_ptr<RowSet> set_of(SharedTable table);
  /// Returns the table of a set.
  TORCHFEED_API static const SharedTable& of(const RowSet& set);
};

/// Replaces the contents of `rows` by indices from a caller.
/// @param rows_of_set  the limit of the indices
void check_rows(const int64_t* indices, int64_t count, int64_t rows_of_set, Rows& rows);

}  // namespace torchfeed
