// SPDX-License-Identifier: Apache-2.0
#include "core/image/scale/resample_kernels.h"

#include <algorithm>
#include <cstddef>

#include "core/image/scale/resample_avx2.h"
#include "core/image/scale/resample_avx512.h"
#include "core/image/scale/resample_neon.h"
#include "core/simd_level.h"

namespace torchfeed {
namespace {

/// The weights of one output pixel.
struct Weights {
  Weights(const ResizeAxis& axis, int64_t output)
      : axis(axis), first(static_cast<std::size_t>(output * axis.stride)) {}

  [[nodiscard]] int32_t operator[](int64_t k) const {
    const std::size_t at = first + static_cast<std::size_t>(k);
    return axis.is_split() ? axis.high[at] * (1 << ResizeAxis::kHalfBits) + axis.low[at]
                           : axis.high[at];
  }

  const ResizeAxis& axis;
  std::size_t first;
};

uint8_t to_byte(int32_t sum, int precision) {
  return static_cast<uint8_t>(std::clamp(sum >> precision, 0, 255));
}

void horizontal(uint8_t* target, const uint8_t* row, const ResizeAxis& axis) {
  const int32_t half = 1 << (axis.precision - 1);
  for (std::size_t x = 0; x < axis.taps.size(); ++x) {
    const Weights weights(axis, static_cast<int64_t>(x));
    const uint8_t* const pixels = row + std::ptrdiff_t{3} * axis.taps[x].first;
    int32_t red = half;
    int32_t green = half;
    int32_t blue = half;
    for (int32_t k = 0; k < axis.taps[x].count; ++k) {
      const int32_t weight = weights[k];
      red += weight * pixels[3 * k];
      green += weight * pixels[3 * k + 1];
      blue += weight * pixels[3 * k + 2];
    }
    target[3 * x] = to_byte(red, axis.precision);
    target[3 * x + 1] = to_byte(green, axis.precision);
    target[3 * x + 2] = to_byte(blue, axis.precision);
  }
}

void vertical(uint8_t* target, const uint8_t* const* rows, const ResizeAxis& axis, int64_t output,
              int64_t bytes) {
  const Weights weights(axis, output);
  const int32_t count = axis.taps[static_cast<std::size_t>(output)].count;
  for (int64_t i = 0; i < bytes; ++i) {
    int32_t sum = 1 << (axis.precision - 1);
    for (int32_t k = 0; k < count; ++k) {
      sum += weights[k] * rows[k][i];
    }
    target[i] = to_byte(sum, axis.precision);
  }
}

void need_nothing(ResizeAxis&) {}

std::vector<ResampleKernels> available() {
  std::vector<ResampleKernels> kernels;
#ifdef TORCHFEED_RESAMPLE_AVX512
  if (has_avx512_bytes() && has_avx2()) {
    kernels.push_back({"AVX-512", prepare_avx512, horizontal_avx512, vertical_avx512});
  }
#endif
#ifdef TORCHFEED_RESAMPLE_AVX2
  if (has_avx2()) {
    kernels.push_back({"AVX2", need_nothing, horizontal_avx2, vertical_avx2});
  }
#endif
#ifdef TORCHFEED_RESAMPLE_NEON
  if (simd_level() > SimdLevel::kScalar) {
    kernels.push_back({"NEON", need_nothing, horizontal_neon, vertical_neon});
  }
#endif
  kernels.push_back({"plain", need_nothing, horizontal, vertical});
  return kernels;
}

}  // namespace

const std::vector<ResampleKernels>& resample_kernels() {
  static const std::vector<ResampleKernels> kernels = available();
  return kernels;
}

}  // namespace torchfeed
