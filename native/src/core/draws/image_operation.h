// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace torchfeed {

/// The operations of color jitter and automatic augmentation, as torchvision's functions of the
/// same names compute them, and the meaning of their value.
enum class ImageOperationKind : uint8_t {
  kIdentity,
  kShearX,        // tangent of the angle
  kShearY,        // tangent of the angle
  kTranslateX,    // pixels to the right; the fraction is dropped
  kTranslateY,    // pixels down; the fraction is dropped
  kRotate,        // degrees, counter-clockwise
  kBrightness,    // factor
  kSaturation,    // factor; "Color" in torchvision's augmentations
  kContrast,      // factor
  kSharpness,     // factor
  kPosterize,     // bits to keep, from 0 to 8
  kSolarize,      // threshold in bytes
  kAutocontrast,  // no value
  kEqualize,      // no value
  kInvert,        // no value
  kHue,           // share of the color circle, in [-0.5, 0.5]
  kGray,          // no value
};

/// An operation and its drawn value.
struct ImageOperation {
  ImageOperationKind kind;
  double value;

  bool operator==(const ImageOperation& other) const = default;
};

}  // namespace torchfeed
