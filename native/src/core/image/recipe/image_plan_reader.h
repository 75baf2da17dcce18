// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/image/recipe/image_recipe.h"

namespace torchfeed {

/// Reads a plan written as numbers, see `PlanStep`.
///
/// @throws Error  of code `kInvalidArgument` if it is not one
ImageRecipe read_plan(std::span<const double> steps);

}  // namespace torchfeed
