// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "torchfeed/export.h"

namespace torchfeed {

/// Images in files and their labels: the source of a `RowSet`. One thread at a time.
class TORCHFEED_API ImageFiles {
 public:
  /// @param steps  the plan of each image, `numbers` numbers: see `PlanStep`
  [[nodiscard]] static std::unique_ptr<ImageFiles> create(const double* steps, int64_t numbers);
  ImageFiles(const ImageFiles&) = delete;
  ImageFiles& operator=(const ImageFiles&) = delete;
  ~ImageFiles();

  /// Appends a file, which is opened whenever its image is needed.
  void add(const std::string& path, int64_t label);

 private:
  friend class RowSet;  // copies the list
  class Impl;
  explicit ImageFiles(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
