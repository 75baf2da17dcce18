// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/rows/row_recipe.h"
#include "core/rows/row_values.h"
#include "core/rows/transformed_column.h"

namespace torchfeed {

/// A column whose rows are cropped, reflected, scaled, normalized or cast when they are gathered.
class RecipeColumn final : public TransformedColumn {
 public:
  /// @throws Error  of code `kInvalidArgument` if the recipe does not fit the rows
  RecipeColumn(const SharedColumn& source, const RowRecipe& recipe);

  [[nodiscard]] int64_t random_streams() const override { return stream_ + 1; }

 private:
  void transform(std::byte* target, const std::byte* source, const SampleKey& key,
                 Stores stores) const override;
  class Strip;
  void transform_plane(Strip& strip, const std::byte* source, const RowPart& part) const;

  const RowRecipe recipe_;
  const RowValues values_;
  const int64_t stream_;  // of random words
  int64_t planes_ = 1;    // of a row, each of a height and a width
  int64_t height_ = 1;    // of the source
  int64_t width_ = 1;     // of the source
};

}  // namespace torchfeed
