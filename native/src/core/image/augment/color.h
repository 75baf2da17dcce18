// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/image/pixels.h"

namespace torchfeed {

/// Color operations in place, each equal bit for bit to the function of torchvision 0.25 on a
/// uint8 tensor, whose products and sums are fused under AVX2 and on arm64: arithmetic in float32,
/// the result truncated.

/// @param factor  0 is black, 1 leaves the image as it is; at least 0
void adjust_brightness(Pixels pixels, double factor);

/// Blends with the mean of the gray image. The mean is exact; torchvision's is so up to 65,793
/// pixels. Of an image whose bytes are not a multiple of 16, torch computes the last few unfused,
/// so that a byte there may differ by one.
///
/// @param factor  0 is gray, 1 leaves the image as it is; at least 0
void adjust_contrast(Pixels pixels, double factor);

/// Blends with the gray image.
///
/// @param factor  0 is gray, 1 leaves the image as it is; at least 0
void adjust_saturation(Pixels pixels, double factor);

/// Turns the hue.
///
/// @param share  of the full circle, in [-0.5, 0.5]
void adjust_hue(Pixels pixels, double share);

/// Blends with the smoothed image. The border stays as it is, as do images of at most two
/// pixels in height or width.
///
/// @param factor  0 is smooth, 1 leaves the image as it is; at least 0
/// @param spare   memory for a copy of the image
void adjust_sharpness(Pixels pixels, double factor, std::vector<uint8_t>& spare);

/// Replaces the three channels by the gray value.
void to_gray(Pixels pixels);

}  // namespace torchfeed
