// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/draws/image_operation.h"

namespace torchfeed::testing {

/// Returns the operation that torchvision, or a program in golden/, calls by this name.
inline ImageOperationKind operation_of(const std::string& name) {
  static const std::map<std::string, ImageOperationKind> kinds = {
      {"Identity", ImageOperationKind::kIdentity},
      {"ShearX", ImageOperationKind::kShearX},
      {"ShearY", ImageOperationKind::kShearY},
      {"TranslateX", ImageOperationKind::kTranslateX},
      {"TranslateY", ImageOperationKind::kTranslateY},
      {"Rotate", ImageOperationKind::kRotate},
      {"Brightness", ImageOperationKind::kBrightness},
      {"brightness", ImageOperationKind::kBrightness},
      {"Color", ImageOperationKind::kSaturation},
      {"Saturation", ImageOperationKind::kSaturation},
      {"saturation", ImageOperationKind::kSaturation},
      {"Contrast", ImageOperationKind::kContrast},
      {"contrast", ImageOperationKind::kContrast},
      {"Sharpness", ImageOperationKind::kSharpness},
      {"Posterize", ImageOperationKind::kPosterize},
      {"Solarize", ImageOperationKind::kSolarize},
      {"AutoContrast", ImageOperationKind::kAutocontrast},
      {"Equalize", ImageOperationKind::kEqualize},
      {"Invert", ImageOperationKind::kInvert},
      {"Hue", ImageOperationKind::kHue},
      {"hue", ImageOperationKind::kHue},
      {"Grey", ImageOperationKind::kGray},
  };
  return kinds.at(name);
}

}  // namespace torchfeed::testing
