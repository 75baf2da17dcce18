// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/image/recipe/image_recipe.h"
#include "torch/base/live_count.h"
#include "torchfeed/image_files.h"

namespace torchfeed {

/// The files behind the facade.
class ImageFiles::Impl {
 public:
  explicit Impl(ImageRecipe recipe) : recipe(std::move(recipe)) {}

  const ImageRecipe recipe;
  std::vector<std::string> paths;
  std::vector<int64_t> labels;

 private:
  LiveCount live_;
};

}  // namespace torchfeed
