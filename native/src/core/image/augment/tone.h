// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/image/pixels.h"

namespace torchfeed {

/// Operations in place that give bytes other values by a table, each equal to the function of
/// torchvision 0.25 on a uint8 tensor.

/// Clears all but the upper bits of each byte.
///
/// @param bits  from 0 to 8
void posterize(Pixels pixels, int bits);

/// Inverts the bytes from a threshold on.
///
/// @param threshold  at most 255
void solarize(Pixels pixels, double threshold);

/// Stretches each channel from its least and largest byte to 0 and 255.
void autocontrast(Pixels pixels);

/// Spreads the bytes of each channel so that all are about equally frequent.
void equalize(Pixels pixels);

/// Subtracts each byte from 255.
void invert(Pixels pixels);

}  // namespace torchfeed
