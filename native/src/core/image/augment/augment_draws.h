// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/draws/image_operation.h"
#include "core/draws/random_words.h"
#include "core/image/scale/resampling.h"

namespace torchfeed {

/// Draws of torchvision's automatic augmentations, equal with torch's words.

/// The parameters of `RandAugment`.
struct RandAugment {
  int64_t operations = 2;  // how many, one after another
  int64_t magnitude = 9;   // the bin, from 0
  int64_t bins = 31;       // at least 2
  Resampling resampling{};
};

/// The parameters of `TrivialAugmentWide`.
struct TrivialAugmentWide {
  int64_t bins = 31;  // at least 2
  Resampling resampling{};
};

/// Appends the operations for an image of this size, identities too.
void draw_augment(const RandAugment& augment, RandomWords& words, int64_t height, int64_t width,
                  std::vector<ImageOperation>& operations);

/// Appends one operation, which may be the identity.
void draw_augment(const TrivialAugmentWide& augment, RandomWords& words,
                  std::vector<ImageOperation>& operations);

}  // namespace torchfeed
