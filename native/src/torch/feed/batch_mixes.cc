// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/batch_mixes.h"

#include <cmath>
#include <sstream>
#include <string>

#include "core/image/augment/mix_draws.h"
#include "torch/base/guard.h"

namespace torchfeed {
namespace {

void check_alpha(double alpha) {
  const auto rounded = static_cast<float>(alpha);
  if (!(rounded > 0 && std::isfinite(rounded))) {
    std::ostringstream message;
    message << "alpha must be above 0 and finite as a float, got " << alpha;
    throw Error(ErrorCode::kInvalidArgument, message.str());
  }
}

}  // namespace

double draw_mixup_weight(double alpha, int64_t seed) {
  return guarded([&] {
    check_alpha(alpha);
    SampleWords words(seed, 0, 0);
    return draw_mixup(alpha, words);
  });
}

double draw_cutmix_box(double alpha, int64_t seed, int64_t height, int64_t width, int64_t* box) {
  return guarded([&] {
    check_alpha(alpha);
    if (height < 1 || width < 1) {
      throw Error(
          ErrorCode::kInvalidArgument,
          "images must have pixels, got " + std::to_string(height) + 'x' + std::to_string(width));
    }
    SampleWords words(seed, 0, 0);
    const CutMixDraw drawn = draw_cutmix(alpha, words, height, width);
    box[0] = drawn.box.top;
    box[1] = drawn.box.left;
    box[2] = drawn.box.height;
    box[3] = drawn.box.width;
    return drawn.lambda;
  });
}

}  // namespace torchfeed
