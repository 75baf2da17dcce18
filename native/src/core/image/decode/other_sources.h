// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/image/decode/image_source.h"

namespace torchfeed {

// Images of kinds that are rare as training data: always decoded as a whole, into the pixels of
// Pillow's `convert("RGB")`.

/// Opens a BMP: 1, 4, 8, 16, 24 or 32 bits, plain or run-length encoded.
std::unique_ptr<ImageSource> open_bmp(std::span<const uint8_t> encoded,
                                      int64_t max_pixels = kMaxPixels);

/// Opens the first frame of a GIF, on a background of its transparent color, or of color 0.
std::unique_ptr<ImageSource> open_gif(std::span<const uint8_t> encoded,
                                      int64_t max_pixels = kMaxPixels);

/// Returns whether a file begins as a PBM, PGM or PPM, in text or in bytes.
[[nodiscard]] bool is_pnm(std::span<const uint8_t> encoded);

/// Opens a PBM, PGM or PPM.
std::unique_ptr<ImageSource> open_pnm(std::span<const uint8_t> encoded,
                                      const DecodeOptions& options = {});

/// Returns whether a file begins as a TIFF, also a BigTIFF.
[[nodiscard]] bool is_tiff(std::span<const uint8_t> encoded);

/// Opens the first image of a TIFF, turned as its orientation says: gray, palette, RGB, CMYK or
/// YCbCr with unsigned samples of up to 16 bits.
std::unique_ptr<ImageSource> open_tiff(std::span<const uint8_t> encoded,
                                       const DecodeOptions& options = {});

}  // namespace torchfeed
