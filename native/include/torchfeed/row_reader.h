// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "torchfeed/export.h"
#include "torchfeed/row_set.h"
#include "torchfeed/slab.h"

namespace torchfeed {

/// Gathers rows of a dataset into slabs on the caller's thread, for callers with threads of their
/// own. One thread at a time, except for `stop`, which is thread-safe.
class TORCHFEED_API RowReader {
 public:
  /// @param rows  the rows to gather, kept alive by the reader
  [[nodiscard]] static std::unique_ptr<RowReader> create(const RowSet& rows);
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;
  ~RowReader();

  /// Sets the key from which random steps of the rows are drawn, together with their index.
  void draw_for(int64_t seed, int64_t epoch);
  /// Writes the rows `indices[0..count)` to the first rows of a slab with the same columns; fails
  /// with `kUnreadable` if one can no longer be read from its file. Returns false if the reader was
  /// stopped.
  [[nodiscard]] bool gather(const int64_t* indices, int64_t count, Slab& target);
  /// Returns the i for which the last `gather` could not read row `indices[i]`, else -1.
  [[nodiscard]] int64_t unreadable() const;
  /// Ends a running `gather` within the time of copying a few MB, and every later one. Thread-safe.
  void stop();

 private:
  class Impl;
  explicit RowReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
