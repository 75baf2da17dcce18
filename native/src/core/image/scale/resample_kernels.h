// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/image/scale/resample_axis.h"

namespace torchfeed {

/// The two passes of a resize over rows of interleaved RGB, for one kind of processor. All kinds
/// compute the same bytes. Rows have `kRowSlack` readable and writable bytes behind them.
struct ResampleKernels {
  std::string name;

  /// Prepares an axis for the functions below, before it is used.
  void (*prepare)(ResizeAxis& axis);

  /// Computes a row of `axis.taps.size()` pixels from a row.
  void (*horizontal)(uint8_t* target, const uint8_t* row, const ResizeAxis& axis);

  /// Computes one row of `bytes` bytes, the output `output` of `axis`, from its rows.
  ///
  /// @param rows  as many as the output has taps, and then, up to a multiple of 4, any row
  void (*vertical)(uint8_t* target, const uint8_t* const* rows, const ResizeAxis& axis,
                   int64_t output, int64_t bytes);
};

/// Returns the kernels that this processor can run: the fastest first, the plain C++ ones last.
const std::vector<ResampleKernels>& resample_kernels();

}  // namespace torchfeed
