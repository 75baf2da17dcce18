// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace torchfeed {

/// The filters of a resize; each is widened when the image shrinks, so that nothing is skipped,
/// unless the dialect is `kTorchvisionPlain`.
enum class ResizeFilter { kBox, kBilinear, kBicubic, kLanczos };

/// The program whose pixels a resize reproduces: `Image.resize` of Pillow 13, torchvision's
/// `resize` of uint8 tensors on a processor with AVX2, or `Image.resize` of Pillow 12.0 and before.
/// `kTorchvisionPlain` is torchvision's bilinear `resize(..., antialias=False)`. Both Pillows have
/// weights of 22 bits and torchvision of up to 15. Width is scaled first, except
/// that Pillow 13 begins with the height if that loses more than twice as many pixels as the width.
enum class ResizeDialect { kPillow, kTorchvision, kPillow12, kTorchvisionPlain };

/// Taps that the kernels take at a time: the weights of an output are padded to a multiple of it.
constexpr int32_t kTapsAtOnce = 4;

/// The pixels of one axis whose weighted mean is an output pixel.
struct Taps {
  int32_t first;
  int32_t count;
};

/// The weights by which one axis of an image is resized, for a window of the output.
///
/// The value of an output pixel is `(round + sum(pixel * weight)) >> precision`, clamped to a byte.
/// A weight is kept as a high and a low half, `high * 2048 + low`, both of which fit the 16 bits of
/// a vector multiplication; in the dialect torchvision a weight fits `high` alone.
struct ResizeAxis {
  /// @param input   pixels of the axis before the resize
  /// @param output  pixels after it
  /// @param from    the first output pixel that is wanted
  /// @param count   how many are wanted
  ResizeAxis(ResizeDialect dialect, ResizeFilter filter, int64_t input, int64_t output,
             int64_t from, int64_t count);

  [[nodiscard]] bool is_split() const { return !low.empty(); }
  /// Returns the first pixel that any output needs, and the end of those needed.
  [[nodiscard]] int64_t begin() const;
  [[nodiscard]] int64_t end() const;
  /// Returns the largest number of pixels that an output needs.
  [[nodiscard]] int64_t max_taps() const;
  /// Makes pixel `by` number 0.
  void shift(int64_t by);

  static constexpr int kHalfBits = 11;

  std::vector<Taps> taps;     // of each output pixel
  int64_t stride = 0;         // weights per output pixel, a multiple of 4; the unused ones are 0
  std::vector<int16_t> high;  // of `stride` weights for each output pixel
  std::vector<int16_t> low;   // empty in the dialect torchvision
  int precision = 0;

  /// Four outputs of a row, for kernels that compute them at once.
  struct Group {
    std::array<uint8_t, 64> order{};  // of the bytes from the first pixel on
    int32_t blocks = 0;               // of 4 taps
  };

  // Added by `ResampleKernels::prepare`.
  std::vector<uint32_t> digits;  // the weights by bytes
  std::vector<Group> groups;
};

}  // namespace torchfeed
