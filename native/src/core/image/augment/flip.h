// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/image/pixels.h"

namespace torchfeed {

/// Exchanges left and right.
void flip_horizontally(Pixels pixels);

/// Exchanges top and bottom.
void flip_vertically(Pixels pixels);

}  // namespace torchfeed
