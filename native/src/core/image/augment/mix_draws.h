// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/draws/random_draws.h"
#include "core/draws/random_words.h"

namespace torchfeed {

/// Draws of torchvision's `MixUp` and `CutMix`, whose parameters hold for a whole batch. With
/// torch's words they equal torchvision's wherever `log`, `sin`, `cos` and `pow` are the same.

/// The parameters of one CutMix.
struct CutMixDraw {
  Box box;        // pasted from the previous image of the batch; may be empty
  double lambda;  // share of the area outside the box: the weight of an image's own label
};

/// Returns a number in (0, 1) of the distribution Beta(`alpha`, `alpha`): in MixUp the weight of an
/// image and its label, as against the previous image's in the batch.
///
/// @param alpha  finite, above 0
[[nodiscard]] double draw_mixup(double alpha, RandomWords& words);

[[nodiscard]] CutMixDraw draw_cutmix(double alpha, RandomWords& words, int64_t height,
                                     int64_t width);

}  // namespace torchfeed
