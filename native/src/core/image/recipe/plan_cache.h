// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <vector>

#include "core/image/recipe/image_recipe.h"

namespace torchfeed {

/// The recipes of the plans that were used last, so that a plan is not read for every image. One
/// thread at a time.
class PlanCache {
 public:
  /// The number of plans that are kept.
  static constexpr std::size_t kPlans = 8;

  /// Returns the recipe of a plan, valid until `kPlans` other plans were asked for.
  ///
  /// @throws Error  as `read_plan`
  const ImageRecipe& recipe(std::span<const double> steps);

 private:
  struct Plan {
    std::vector<double> steps;
    ImageRecipe recipe;
  };

  std::list<Plan> plans_;  // the latest first
};

}  // namespace torchfeed
