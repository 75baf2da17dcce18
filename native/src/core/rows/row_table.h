// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/rows/row_column.h"

namespace torchfeed {

class RowTable;
using SharedTable = std::shared_ptr<const RowTable>;

/// The rows of a dataset: columns with the same number of rows, or a selection of the rows of other
/// tables. Immutable and thread-safe.
class RowTable {
 public:
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;
  virtual ~RowTable() = default;

  [[nodiscard]] int64_t rows() const { return rows_; }
  /// Returns the dtype and shape of a row of each column.
  [[nodiscard]] const std::vector<RowShape>& columns() const { return columns_; }

  /// Writes the wanted rows of column i to their places in `targets[i]`; as `RowColumn::gather`.
  virtual bool gather(std::span<std::byte* const> targets, const WantedRows& wanted,
                      const std::atomic<bool>& stop, Stores stores) const = 0;

  /// Returns the columns of this table; none if its rows are selected from other tables.
  [[nodiscard]] virtual std::span<const SharedColumn> side_by_side() const { return {}; }

  /// Returns this table with another column in place of one, or of each part of one: the result of
  /// `map` for it. Inserts transforms of single samples.
  [[nodiscard]] SharedTable mapped(
      std::size_t column, const std::function<SharedColumn(const SharedColumn&)>& map) const;

 protected:
  class Mapping;

  /// @param depth  the number of tables inside each other, with this one
  /// @throws Error  of code `kInvalidArgument` if there are too many
  RowTable(int64_t rows, std::vector<RowShape> columns, int64_t depth);

  static int64_t depth_of(const RowTable& table) { return table.depth_; }

 private:
  /// Returns this table with the result of the mapping in place of each column or table in it.
  [[nodiscard]] virtual SharedTable replaced(Mapping& mapping) const = 0;

  const int64_t rows_;
  const std::vector<RowShape> columns_;
  const int64_t depth_;
};

/// @param columns  at least one, all with the same number of rows
SharedTable table_of(std::vector<SharedColumn> columns);
/// @param rows  numbers below the rows of the table: row i of the subset is row `rows[i]` of it
SharedTable subset_of(SharedTable table, Rows rows);
/// @param first, second  tables of the same columns
SharedTable concatenation_of(const SharedTable& first, const SharedTable& second);

}  // namespace torchfeed
