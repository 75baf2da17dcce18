// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/image/decode/image_source.h"

namespace torchfeed {

/// Opens a PNG. As with Pillow's `convert("RGB")`, transparency is dropped and the colors under it
/// stay. Of 16 bits, the high byte is used, unless the options clip gray ones.
std::unique_ptr<ImageSource> open_png(std::span<const uint8_t> encoded,
                                      const DecodeOptions& options = {});

}  // namespace torchfeed
