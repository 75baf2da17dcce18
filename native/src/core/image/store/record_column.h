// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/image/recipe/image_recipe.h"
#include "core/image/store/record_file.h"
#include "core/rows/row_column.h"

namespace torchfeed {

/// A column of the images of record or tar files, one file after the other. The crop is drawn
/// before an image is read, and only the tiles that it needs are. Random steps are drawn as in
/// `ImageColumn`.
class RecordColumn final : public RowColumn {
 public:
  /// @param row  dtype and shape, of `recipe.row_bytes()` bytes
  RecordColumn(std::vector<SharedImages> files, const ImageRecipe& recipe, RowShape row);

  /// At the first image that is not in the page cache, all remaining ones are requested from the
  /// disk at once.
  bool gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop,
              Stores stores) const override;
  [[nodiscard]] int64_t random_streams() const override { return 1; }

 private:
  class Batch;
  /// An image of one of the files.
  struct Place {
    const ImageArchive& file;
    std::size_t number;
  };

  [[nodiscard]] Place place_of(std::size_t row) const;

  const std::vector<SharedImages> files_;
  std::vector<std::size_t> ends_;  // of each file: the column's number behind its last image
  const ImageRecipe recipe_;
};

/// Returns the number of images of all files.
[[nodiscard]] int64_t images_of(const std::vector<SharedImages>& files);

/// Returns the labels of all images, in the order of the column.
[[nodiscard]] std::vector<int64_t> labels_of(const std::vector<SharedImages>& files);

}  // namespace torchfeed
