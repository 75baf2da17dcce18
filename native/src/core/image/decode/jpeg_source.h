// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/image/decode/image_source.h"

namespace torchfeed {

/// Opens a JPEG, with the rows of Pillow: accurate integer DCT, smooth upsampling, gray and CMYK
/// converted to RGB, no color profile and no orientation applied.
///
/// libjpeg decodes a margin around a region as well, so that its edges stay the same. It stops
/// after the last row, so damage below the region goes unnoticed.
std::unique_ptr<ImageSource> open_jpeg(std::span<const uint8_t> encoded,
                                       int64_t max_pixels = kMaxPixels);

/// Chooses whether the Huffman codes of the usual kind of JPEGs are decoded by `McuDecoder`, as by
/// default, or all by libjpeg. The pixels and the errors are the same, except that libjpeg misses
/// the end of a cut file even if a region ends a few bytes before it. For tests.
void allow_fast_huffman(bool is_allowed);

}  // namespace torchfeed
