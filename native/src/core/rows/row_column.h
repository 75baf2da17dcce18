// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/rows/wanted_rows.h"
#include "core/stores.h"

namespace torchfeed {

/// The dtype, shape and size of one row of a column.
struct RowShape {
  int64_t dtype;  // the number of a `c10::ScalarType`
  std::vector<int64_t> sizes;
  int64_t bytes;

  bool operator==(const RowShape& other) const = default;
};

/// A column of a dataset: rows of one dtype and shape that can be gathered in any order. Immutable
/// and thread-safe.
///
/// Each kind of native data is a class of this kind and a function that puts it into a `RowSet`
/// with `RowTables::set_of`. It may copy rows from memory or files, or compute them, for example
/// decode images whose files differ in length. Transforms of single samples are a
/// `TransformedColumn`.
class RowColumn {
 public:
  RowColumn(int64_t rows, RowShape row) : rows_(rows), row_(std::move(row)) {}
  RowColumn(const RowColumn&) = delete;
  RowColumn& operator=(const RowColumn&) = delete;
  virtual ~RowColumn() = default;

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] const RowShape& row() const { return row_; }

  /// Writes each wanted row to its place in `target`, which consists of dense rows. Checks `stop`
  /// at least every few MB, and returns false once it is set.
  ///
  /// @param wanted  numbers below `rows()`
  /// @throws UnreadableRow  for a row that cannot be written; `target` is then undefined
  virtual bool gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop,
                      Stores stores) const = 0;

  /// Returns the rows, one after another, if they are in memory and can be read at any time;
  /// otherwise null. Valid as long as the column.
  [[nodiscard]] virtual const std::byte* resident() const { return nullptr; }

  /// Returns the number of streams of random words, from 0 on, that the rows use; a transform of
  /// the rows draws from the next one.
  [[nodiscard]] virtual int64_t random_streams() const { return 0; }

 private:
  const int64_t rows_;
  const RowShape row_;
};

using SharedColumn = std::shared_ptr<const RowColumn>;

}  // namespace torchfeed
