// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "core/image/recipe/image_recipe.h"
#include "core/rows/row_column.h"

namespace torchfeed {

/// A column of images in files, decoded when their rows are gathered. Random steps are drawn for
/// the index of the sample in the dataset that was asked, as with datasets in Java.
class ImageColumn final : public RowColumn {
 public:
  /// @param paths   the file of each row; opened when the row is gathered
  /// @param row     dtype and shape, of `recipe.row_bytes()` bytes
  ImageColumn(std::vector<std::string> paths, const ImageRecipe& recipe, RowShape row);

  bool gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop,
              Stores stores) const override;
  [[nodiscard]] int64_t random_streams() const override { return 1; }

 private:
  const std::vector<std::string> paths_;
  const ImageRecipe recipe_;
};

}  // namespace torchfeed
