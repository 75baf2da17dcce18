// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/mix_draws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace torchfeed {
namespace {

/// Normal numbers in pairs (Box and Muller).
class Normals {
 public:
  explicit Normals(RandomWords& words) : words_(words) {}

  double next() {
    if (second_) {
      const double number = *second_;
      second_.reset();
      return number;
    }
    const double turn = words_.wide_unit();
    const double radius = std::sqrt(-2 * std::log1p(-words_.wide_unit()));
    const double angle = 2 * std::numbers::pi * turn;
    second_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

 private:
  RandomWords& words_;
  std::optional<double> second_;
};

// Some constants are float32 in torch: a third, and 0.0331.
constexpr auto kThird = static_cast<double>(1.0F / 3.0F);
constexpr auto kSqueeze = static_cast<double>(0.0331F);

/// A number of the distribution Gamma(`alpha`, 1) (Marsaglia and Tsang 2000).
double draw_gamma(double alpha, RandomWords& words, Normals& normals) {
  double scale = 1;
  if (alpha < 1) {
    scale = std::pow(1 - words.wide_unit(), 1 / alpha);
    alpha += 1;
  }
  const double d = alpha - kThird;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x;
    double y;
    do {
      x = normals.next();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y;
    const double u = 1 - words.wide_unit();
    const double xx = x * x;
    if (u < 1 - kSqueeze * xx * xx || std::log(u) < 0.5 * xx + d * (1 - v + std::log(v))) {
      return scale * d * v;
    }
  }
}

}  // namespace

double draw_mixup(double alpha, RandomWords& words) {
  Normals normals(words);
  const auto shape = static_cast<double>(static_cast<float>(alpha));
  const auto draw = [&] {
    return std::max(draw_gamma(shape, words, normals), std::numeric_limits<double>::min());
  };
  const double first = draw();
  const double second = draw();
  const auto share = static_cast<float>(first / (first + second));
  return std::clamp(share, std::numeric_limits<float>::min(), std::nextafter(1.0F, 0.0F));
}

CutMixDraw draw_cutmix(double alpha, RandomWords& words, int64_t height, int64_t width) {
  const double half = 0.5 * std::sqrt(1 - draw_mixup(alpha, words));
  const int64_t x = words.below(width);
  const int64_t y = words.below(height);
  const auto half_width = static_cast<int64_t>(half * static_cast<double>(width));
  const auto half_height = static_cast<int64_t>(half * static_cast<double>(height));
  const int64_t left = std::max<int64_t>(x - half_width, 0);
  const int64_t top = std::max<int64_t>(y - half_height, 0);
  const Box box{top, left, std::min(y + half_height, height) - top,
                std::min(x + half_width, width) - left};
  const double area = static_cast<double>(box.height * box.width);
  return {box, 1 - area / static_cast<double>(width * height)};
}

}  // namespace torchfeed
