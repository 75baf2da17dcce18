// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/rows/row_column.h"

namespace torchfeed {

/// The key of a sample's random numbers.
struct SampleKey {
  int64_t seed;
  int64_t epoch;
  int64_t index;  // in the dataset that was asked
};

/// A column with the rows of another one, each changed on its own, for example cast, normalized or
/// cropped. A transform is a class of this kind and a function that applies it to a `RowSet` with
/// `RowTable::mapped`.
class TransformedColumn : public RowColumn {
 public:
  /// @param source  the column whose rows are changed
  /// @param row     dtype and shape of the result
  TransformedColumn(SharedColumn source, RowShape row);

  bool gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop,
              Stores stores) const final;

 private:
  /// Writes the row that the source's row becomes. Called concurrently.
  ///
  /// @param stores  may be ignored; the caller ends the streaming
  virtual void transform(std::byte* target, const std::byte* source, const SampleKey& key,
                         Stores stores) const = 0;

  const SharedColumn source_;
};

}  // namespace torchfeed
