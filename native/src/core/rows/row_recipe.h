// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/draws/box.h"
#include "core/draws/random_words.h"
#include "core/rows/row_column.h"

namespace torchfeed {

/// The types of the elements of rows that can be transformed or that they become, by the number of
/// their `c10::ScalarType`.
enum class Element : int64_t {
  kUint8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,  // only of results
  kFloat32 = 6,
  kFloat64 = 7,
  kBFloat16 = 15,  // only of results
  kUint16 = 27,
  kUint32 = 28,
};

/// Returns whether numbers are floats of 16 bits.
constexpr bool is_half(Element element) {
  return element == Element::kFloat16 || element == Element::kBFloat16;
}

/// The size of a part of a row.
struct PartSize {
  int64_t height;
  int64_t width;
};

/// `(x - mean) / std` in float32.
struct ElementScale {
  float mean;
  float std;
};

/// The way from a row to a batch's row: a part of its last two dimensions, and its numbers
/// converted. A row of fewer dimensions has height 1.
struct RowRecipe {
  /// The part that is cut out, which may exceed the row.
  std::optional<Box> crop = std::nullopt;
  /// The middle of this size is cut out instead.
  std::optional<PartSize> center = std::nullopt;
  /// A random part of this size is cut out instead, of the row with a margin around it.
  std::optional<PartSize> random_crop = std::nullopt;
  int64_t margin = 0;
  std::optional<double> flip_probability = std::nullopt;
  std::optional<float> factor = std::nullopt;
  /// Of each channel, or one for all; nothing is normalized if empty.
  std::vector<ElementScale> channels{};
  std::optional<Element> cast = std::nullopt;

  [[nodiscard]] bool is_random() const { return random_crop || flip_probability; }
  [[nodiscard]] bool changes_place() const { return is_random() || crop || center; }
  /// Returns whether numbers are converted to float32 and computed with.
  [[nodiscard]] bool makes_floats() const { return factor || !channels.empty(); }
};

/// A part of a row, and whether it is reflected.
struct RowPart {
  Box box;
  bool flips;
};

/// Reads a recipe written as numbers, see `RowStep`.
///
/// @throws Error  of code `kInvalidArgument` if it is not one
RowRecipe read_row_plan(std::span<const double> steps);

/// Returns dtype and shape of the row that a row becomes.
///
/// @throws Error  of code `kInvalidArgument` if the recipe does not fit the row
RowShape result_of(const RowRecipe& recipe, const RowShape& source);

/// Returns the part of a row of this size; draws a random one as torchvision's `RandomCrop` and
/// `RandomHorizontalFlip` do.
RowPart draw_part(const RowRecipe& recipe, RandomWords& words, int64_t height, int64_t width);

}  // namespace torchfeed
