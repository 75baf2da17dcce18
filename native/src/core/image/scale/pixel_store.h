// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/image/pixels.h"
#include "core/stores.h"

namespace torchfeed {

/// The receiver of the rows of a finished image.
class PixelStore {
 public:
  PixelStore() = default;
  PixelStore(const PixelStore&) = delete;
  PixelStore& operator=(const PixelStore&) = delete;
  virtual ~PixelStore() = default;

  /// Takes row `y`: interleaved red, green and blue, with `kRowSlack` readable bytes behind it.
  virtual void put_row(int64_t y, const uint8_t* rgb) = 0;
};

/// The layout of a stored image, and its reflections.
struct StoredShape {
  int64_t width;
  int64_t height;
  bool flips_horizontally = false;
  bool flips_vertically = false;
  Stores stores = Stores::kCached;  // of floats
};

/// The float that each byte of a channel becomes: `(byte / 255 - mean) / std`, every operation
/// rounded to float32 as in torchvision's `ToDtype(float32, scale=True)` and `Normalize`.
class Normalization {
 public:
  Normalization(const std::array<float, 3>& mean, const std::array<float, 3>& std);
  [[nodiscard]] const std::array<float, 256>& channel(std::size_t c) const { return values_[c]; }
  [[nodiscard]] const std::array<float, 3>& mean() const { return mean_; }
  [[nodiscard]] const std::array<float, 3>& std() const { return std_; }

 private:
  std::array<float, 3> mean_;
  std::array<float, 3> std_;
  std::array<std::array<float, 256>, 3> values_;
};

/// Stores bytes by channel, then row, then column.
std::unique_ptr<PixelStore> byte_planes(uint8_t* target, const StoredShape& shape);

/// Stores floats by channel, then row, then column.
///
/// @param normalization  must outlive the store
std::unique_ptr<PixelStore> float_planes(float* target, const StoredShape& shape,
                                         const Normalization& normalization);

/// Stores an image for operations on its colors, of the shape `pixels.width` and `pixels.height`.
std::unique_ptr<PixelStore> interleaved(const Pixels& pixels, bool flips_horizontally,
                                        bool flips_vertically);

}  // namespace torchfeed
