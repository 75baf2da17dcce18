// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/draws/random_draws.h"
#include "core/draws/random_words.h"
#include "core/image/augment/image_steps.h"
#include "core/image/decode/image_source.h"
#include "core/image/scale/image_pass.h"
#include "core/image/scale/pixel_store.h"
#include "core/stores.h"

namespace torchfeed {

/// The upper left corner of a part, which may lie outside of the image.
struct Corner {
  int64_t left;
  int64_t top;
};

/// The way from an encoded image to a row of a batch: the part, its size, and the form of its
/// numbers. Immutable while it is in use, and then thread-safe.
struct ImageRecipe {
  /// Returns the size of the row: `[3, height, width]` bytes, or floats if it is normalized.
  [[nodiscard]] int64_t row_bytes() const;

  int64_t height = 1;
  int64_t width = 1;
  /// Images above `max_pixels` are refused, before and after they are scaled.
  DecodeOptions decoding{};
  /// Before anything else, the image is turned as its EXIF orientation says.
  bool follows_orientation = false;
  /// The shorter side of the scaled image; its middle is cut out, with black around it if it is
  /// smaller. The longer side is `int(side * long / short)`, as in torchvision's `Resize`.
  std::optional<int64_t> short_side = std::nullopt;
  /// The middle is cut out of the image as it is, if there is no `short_side`. Otherwise
  /// the whole image is scaled to the size of the row.
  bool crops_middle = false;
  /// A fixed part is cut out instead of the middle, with black where it exceeds the image.
  std::optional<Corner> corner = std::nullopt;
  /// A random part of the image is scaled to the size of the row instead.
  std::optional<RandomResizedCrop> random_crop = std::nullopt;
  ImageSteps steps{{}};
  Resize resize;
  std::optional<Normalization> normalization = std::nullopt;
  /// At last, rectangles of the row become 0.
  std::vector<RandomErasing> last_erasings{};
};

/// Returns the parts and sizes for an image of this size; draws the random crop.
///
/// @throws Error  of code `kUnreadable` if the scaled image would have more than `max_pixels`
[[nodiscard]] Placement place(const ImageRecipe& recipe, RandomWords& words, int64_t height,
                              int64_t width);

/// Decodes an image and writes its row.
///
/// @param source  an image of which no region was chosen yet
/// @param words   the source of the random steps: first the crop, then the others in order
/// @param target  receives `recipe.row_bytes()` bytes, aligned as its elements
/// @param stores  streamed if the row is not read soon; `end_streaming` is left to the caller
/// @throws Error  of code `kUnreadable` if it is not an image that can be decoded
void make_row(const ImageRecipe& recipe, ImageSource& source, RandomWords& words, std::byte* target,
              Stores stores = Stores::kCached);

/// Decodes an image whose encoded bytes are in memory.
void make_row(const ImageRecipe& recipe, std::span<const uint8_t> encoded, RandomWords& words,
              std::byte* target, Stores stores = Stores::kCached);

}  // namespace torchfeed
