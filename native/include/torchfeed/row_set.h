// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "torchfeed/export.h"
#include "torchfeed/file_columns.h"
#include "torchfeed/image_files.h"
#include "torchfeed/image_records.h"

namespace torchfeed {

/// The rows of a dataset, in memory or in files: the source of batches. It shares ownership of its
/// data with the sets and feeds made from it. Immutable and thread-safe.
class TORCHFEED_API RowSet {
 public:
  /// @param columns  at least one: dense CPU tensors of equal first dimension
  [[nodiscard]] static std::unique_ptr<RowSet> of_tensors(const std::vector<at::Tensor>& columns);
  /// @param columns  at least one, all with the same number of rows; their files stay open as long
  ///                 as the set and those made from it. Files added later are not part of the set
  [[nodiscard]] static std::unique_ptr<RowSet> of_files(const FileColumns& columns);
  /// @param files  become two columns: the images, and their labels as int64. Files added later
  ///               are not part of the set
  [[nodiscard]] static std::unique_ptr<RowSet> of_images(const ImageFiles& files);
  /// @param records  become two columns: the images, and their labels as int64. Files added later
  ///                 are not part of the set
  /// @param steps    the plan of each image, `numbers` numbers: see `PlanStep`
  [[nodiscard]] static std::unique_ptr<RowSet> of_records(const ImageRecords& records,
                                                          const double* steps, int64_t numbers);
  RowSet(const RowSet&) = delete;
  RowSet& operator=(const RowSet&) = delete;
  ~RowSet();

  /// Returns the rows `indices[0..count)` of this set, in that order.
  [[nodiscard]] std::unique_ptr<RowSet> subset(const int64_t* indices, int64_t count) const;
  /// Returns the rows of this set followed by another one's, with the same columns.
  [[nodiscard]] std::unique_ptr<RowSet> concat(const RowSet& next) const;
  /// Returns this set with the rows of a column transformed, each on its own, when they are
  /// gathered.
  ///
  /// @param steps  `numbers` numbers: see `RowStep`
  [[nodiscard]] std::unique_ptr<RowSet> transformed(int64_t column, const double* steps,
                                                    int64_t numbers) const;
  /// Returns an independent object with the same rows.
  [[nodiscard]] std::unique_ptr<RowSet> share() const;

  [[nodiscard]] int64_t rows() const;

 private:
  friend class RowTables;  // gets their tables
  class Impl;
  explicit RowSet(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
