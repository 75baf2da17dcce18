// SPDX-License-Identifier: Apache-2.0
#include "core/image/recipe/plan_cache.h"

#include <algorithm>
#include <cstring>

#include "core/image/recipe/image_plan_reader.h"

namespace torchfeed {
namespace {

/// Compares bits, since a plan may contain NaN.
bool is_same(const std::vector<double>& known, std::span<const double> steps) {
  return known.size() == steps.size() &&
         (known.empty() || std::memcmp(known.data(), steps.data(), steps.size_bytes()) == 0);
}

}  // namespace

const ImageRecipe& PlanCache::recipe(std::span<const double> steps) {
  const auto known = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const Plan& plan) { return is_same(plan.steps, steps); });
  if (known == plans_.end()) {
    plans_.push_front({{steps.begin(), steps.end()}, read_plan(steps)});
    if (plans_.size() > kPlans) {
      plans_.pop_back();
    }
  } else {
    plans_.splice(plans_.begin(), plans_, known);
  }
  return plans_.front().recipe;
}

}  // namespace torchfeed
