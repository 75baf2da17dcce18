// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/affine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numbers>

#include "core/image/augment/flip.h"
#include "core/image/augment/fused_target.h"

namespace torchfeed {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kDegreesOfRadian = 180 / std::numbers::pi;
constexpr int64_t kBlock = 64;

using Color = std::array<float, 3>;

/// A motion of the image, about a center as seen from the middle of the image.
struct Motion {
  double angle = 0;    // degrees, clockwise
  double shear_x = 0;  // degrees
  double shear_y = 0;  // degrees
  double right = 0;
  double down = 0;
  double center_x = 0;
  double center_y = 0;
};

/// The origin of the pixel (x, y), both as seen from the middle of the image: a line for each
/// coordinate, with the coefficients of x, y and 1.
using Matrix = std::array<std::array<double, 3>, 2>;

/// The inverse of the product of translation, rotation and the two shears, in torchvision's order
/// of operations.
Matrix inverse_of(const Motion& motion) {
  const double rotation = motion.angle * kDegree;
  const double shear_y = motion.shear_y * kDegree;
  const double tangent = std::tan(motion.shear_x * kDegree);
  const double cosine = std::cos(shear_y);
  const double a = std::cos(rotation - shear_y) / cosine;
  const double b = -(a * tangent + std::sin(rotation));
  const double c = std::sin(rotation - shear_y) / cosine;
  const double d = std::cos(rotation) - c * tangent;
  const double x = motion.center_x + motion.right;
  const double y = motion.center_y + motion.down;
  return {{{d, -b, motion.center_x - d * x + b * y}, {-c, a, motion.center_y + c * x - a * y}}};
}

/// One coordinate of the origin, in torch's arithmetic: in float32, and in units of half the side
/// until the last step.
struct Coordinate {
  Coordinate(const std::array<double, 3>& line, int64_t side)
      : half(static_cast<float>(side) / 2),
        of_x(static_cast<float>(line[0]) / half),
        of_y(static_cast<float>(line[1]) / half),
        constant(static_cast<float>(line[2]) / half) {}

  /// Returns the origin of (x, y) in pixels, counted from the center of the first.
  TORCHFEED_INLINE float at(float x, float y) const {
    const float origin = x * of_x + y * of_y + constant;
    return __builtin_fmaf(origin + 1, half, -0.5F);
  }

  float half;
  float of_x;
  float of_y;
  float constant;
};

/// An image to read from.
struct Source {
  /// Returns the pixel, or nothing if it lies outside.
  TORCHFEED_INLINE const uint8_t* find(float x, float y) const {
    const bool inside =
        x >= 0 && x < static_cast<float>(width) && y >= 0 && y < static_cast<float>(height);
    return inside ? data + 3 * (static_cast<int64_t>(y) * width + static_cast<int64_t>(x))
                  : nullptr;
  }

  const uint8_t* data;
  int64_t width;
  int64_t height;
};

/// Takes the nearest pixel; of two, the one with the even number.
struct Nearest {
  TORCHFEED_INLINE void operator()(float x, float y, uint8_t* target) const {
    const uint8_t* const pixel = source.find(__builtin_rintf(x), __builtin_rintf(y));
    std::memcpy(target, pixel != nullptr ? pixel : fill.data(), 3);
  }

  Source source;
  std::array<uint8_t, 3> fill;
};

/// Weights the four pixels around. Those outside count as black; the fill then has the weight that
/// they had.
struct Bilinear {
  TORCHFEED_INLINE void operator()(float x, float y, uint8_t* target) const {
    const float left = __builtin_floorf(x);
    const float top = __builtin_floorf(y);
    const float west = 1 - (x - left);
    const float north = 1 - (y - top);
    Color sum{};
    float weights = 0;
    add(source.find(left, top), north * west, sum, weights);
    add(source.find(left + 1, top), north * (x - left), sum, weights);
    add(source.find(left, top + 1), (y - top) * west, sum, weights);
    add(source.find(left + 1, top + 1), (y - top) * (x - left), sum, weights);
    for (size_t c = 0; c < sum.size(); ++c) {
      const float filled = (sum[c] - fill[c]) * weights + fill[c];
      target[c] =
          static_cast<uint8_t>(static_cast<int32_t>(__builtin_rintf(is_filled ? filled : sum[c])));
    }
  }

  TORCHFEED_INLINE static void add(const uint8_t* pixel, float weight, Color& sum, float& weights) {
    if (pixel == nullptr) {
      return;
    }
    for (size_t c = 0; c < sum.size(); ++c) {
      sum[c] = __builtin_fmaf(pixel[c], weight, sum[c]);
    }
    weights += weight;
  }

  Source source;
  Color fill;
  bool is_filled;
};

/// Writes the row `y` of the moved image.
template <class Pick>
TORCHFEED_INLINE void move_row(const Coordinate& across, const Coordinate& down, int64_t row,
                               const Pick& pick, uint8_t* target) {
  std::array<float, kBlock> from_x;
  std::array<float, kBlock> from_y;
  const int64_t width = pick.source.width;
  const float half_width = static_cast<float>(width - 1) / 2;
  const float y = static_cast<float>(row) - static_cast<float>(pick.source.height - 1) / 2;
  for (int64_t done = 0; done < width; done += kBlock) {
    const auto first = static_cast<float>(done);
    for (int i = 0; i < kBlock; ++i) {
      const float x = (first + static_cast<float>(i)) - half_width;
      from_x[static_cast<size_t>(i)] = across.at(x, y);
      from_y[static_cast<size_t>(i)] = down.at(x, y);
    }
    const int64_t step = std::min(kBlock, width - done);
    for (int64_t i = 0; i < step; ++i) {
      const auto place = static_cast<size_t>(i);
      pick(from_x[place], from_y[place], target + 3 * (done + i));
    }
  }
}

template <class Pick>
void move_plainly(const Coordinate& across, const Coordinate& down, const Pick& pick,
                  Pixels target) {
  for (int64_t y = 0; y < target.height; ++y) {
    move_row(across, down, y, pick, target.data + 3 * target.width * y);
  }
}

#ifdef TORCHFEED_FUSED_TARGET
template <class Pick>
TORCHFEED_FUSED_TARGET void move_fused(const Coordinate& across, const Coordinate& down,
                                       const Pick& pick, Pixels target) {
  for (int64_t y = 0; y < target.height; ++y) {
    move_row(across, down, y, pick, target.data + 3 * target.width * y);
  }
}
#endif

template <class Pick>
void move(const Matrix& matrix, const Pick& pick, Pixels target) {
  const Coordinate across(matrix[0], target.width);
  const Coordinate down(matrix[1], target.height);
#ifdef TORCHFEED_FUSED_TARGET
  if (runs_fused_target()) {
    move_fused(across, down, pick, target);
    return;
  }
#endif
  move_plainly(across, down, pick, target);
}

void copy_to(std::vector<uint8_t>& spare, Pixels pixels) {
  spare.assign(pixels.data, pixels.data + 3 * pixels.width * pixels.height);
}

void move(Pixels pixels, const Motion& motion, const Resampling& resampling,
          std::vector<uint8_t>& spare) {
  copy_to(spare, pixels);
  const Matrix matrix = inverse_of(motion);
  const Source source{spare.data(), pixels.width, pixels.height};
  const auto& fill = resampling.fill;
  if (resampling.filter == Resampling::Filter::kNearest) {
    move(matrix, Nearest{source, fill}, pixels);
  } else {
    const bool is_filled = fill != std::array<uint8_t, 3>{};
    const Color color = {static_cast<float>(fill[0]), static_cast<float>(fill[1]),
                         static_cast<float>(fill[2])};
    move(matrix, Bilinear{source, color, is_filled}, pixels);
  }
}

/// A shear about the upper left corner.
Motion sheared(Pixels pixels) {
  return {.center_x = -0.5 * static_cast<double>(pixels.width),
          .center_y = -0.5 * static_cast<double>(pixels.height)};
}

/// Turns a square by a quarter, counter-clockwise.
void turn_quarter(Pixels pixels, std::vector<uint8_t>& spare) {
  copy_to(spare, pixels);
  const int64_t side = pixels.width;
  for (int64_t y = 0; y < side; ++y) {
    for (int64_t x = 0; x < side; ++x) {
      std::memcpy(pixels.data + 3 * (y * side + x), spare.data() + 3 * (x * side + side - 1 - y),
                  3);
    }
  }
}

void turn_half(Pixels pixels) {
  flip_horizontally(pixels);
  flip_vertically(pixels);
}

}  // namespace

void shear_x(Pixels pixels, double tangent, const Resampling& resampling,
             std::vector<uint8_t>& spare) {
  Motion motion = sheared(pixels);
  motion.shear_x = std::atan(tangent) * kDegreesOfRadian;
  move(pixels, motion, resampling, spare);
}

void shear_y(Pixels pixels, double tangent, const Resampling& resampling,
             std::vector<uint8_t>& spare) {
  Motion motion = sheared(pixels);
  motion.shear_y = std::atan(tangent) * kDegreesOfRadian;
  move(pixels, motion, resampling, spare);
}

void translate(Pixels pixels, int64_t right, int64_t down, const Resampling& resampling,
               std::vector<uint8_t>& spare) {
  move(pixels, {.right = static_cast<double>(right), .down = static_cast<double>(down)}, resampling,
       spare);
}

void rotate(Pixels pixels, double degrees, const Resampling& resampling,
            std::vector<uint8_t>& spare) {
  const double rest = std::fmod(degrees, 360);
  const double angle = rest < 0 ? rest + 360 : rest;
  const bool is_square = pixels.width == pixels.height;
  if (angle == 0) {
    return;
  }
  if (angle == 180) {
    turn_half(pixels);
  } else if (angle == 90 && is_square) {
    turn_quarter(pixels, spare);
  } else if (angle == 270 && is_square) {
    turn_quarter(pixels, spare);
    turn_half(pixels);
  } else {
    move(pixels, {.angle = -angle}, resampling, spare);
  }
}

}  // namespace torchfeed
