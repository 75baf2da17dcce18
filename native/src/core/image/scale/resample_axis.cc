// SPDX-License-Identifier: Apache-2.0
#include "core/image/scale/resample_axis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace torchfeed {
namespace {

constexpr int kPillowBits = 22;  // 32 bits, less a pixel's and two for sums beyond 255
constexpr int kTorchBits = 22;
constexpr int kShortBits = 15;

bool is_torchvision(ResizeDialect dialect) {
  return dialect == ResizeDialect::kTorchvision || dialect == ResizeDialect::kTorchvisionPlain;
}

double radius_of(ResizeFilter filter) {
  switch (filter) {
    case ResizeFilter::kBox:
      return 0.5;
    case ResizeFilter::kBilinear:
      return 1;
    case ResizeFilter::kBicubic:
      return 2;
    case ResizeFilter::kLanczos:
      break;
  }
  return 3;
}

// All programs have the same formula for the inner part; the outer one is factored differently,
// which changes the last bit.
double bicubic(double x, ResizeDialect dialect) {
  constexpr double kA = -0.5;
  if (x < 1) {
    return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  }
  if (x < 2) {
    return is_torchvision(dialect) ? ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA
                                   : (((x - 5) * x + 8) * x - 4) * kA;
  }
  return 0;
}

double sinc(double x) {
  const double angle = x * std::numbers::pi;
  return x == 0 ? 1 : std::sin(angle) / angle;
}

double weight_at(double x, ResizeFilter filter, ResizeDialect dialect) {
  const double distance = std::abs(x);
  switch (filter) {
    case ResizeFilter::kBox:
      return x > -0.5 && x <= 0.5 ? 1 : 0;
    case ResizeFilter::kBilinear:
      return distance < 1 ? 1 - distance : 0;
    case ResizeFilter::kBicubic:
      return bicubic(distance, dialect);
    case ResizeFilter::kLanczos:
      break;
  }
  return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

int64_t round_away(double x) { return static_cast<int64_t>(x < 0 ? x - 0.5 : x + 0.5); }

/// The bits behind the point that torch gives the weights, so that the largest fits 16 bits.
int torch_precision(double largest) {
  int precision = 0;
  while (precision < kTorchBits &&
         static_cast<int64_t>(0.5 + largest * static_cast<double>(1 << (precision + 1))) <
             (1 << kShortBits)) {
    ++precision;
  }
  return precision;
}

/// The taps and real weights of all output pixels of an axis.
struct RealAxis {
  RealAxis(ResizeDialect dialect, ResizeFilter filter, int64_t input, int64_t output) {
    const bool is_pillow = !is_torchvision(dialect);
    const double scale =
        is_pillow ? static_cast<double>(static_cast<float>(input)) / static_cast<double>(output)
                  : static_cast<double>(input) / static_cast<double>(output);
    const double widening =
        dialect == ResizeDialect::kTorchvisionPlain ? 1.0 : std::max(scale, 1.0);
    const double support = radius_of(filter) * widening;
    const double narrowing = 1.0 / widening;
    stride = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
    weights.resize(static_cast<std::size_t>(output * stride));
    taps.reserve(static_cast<std::size_t>(output));
    for (int64_t i = 0; i < output; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * scale;
      const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
      const int64_t end = std::min(input, static_cast<int64_t>(center + support + 0.5));
      const int64_t count = std::clamp<int64_t>(end - first, 0, stride);
      taps.push_back({static_cast<int32_t>(first), static_cast<int32_t>(count)});
      double* const row = weights.data() + i * stride;
      double sum = 0;
      for (int64_t k = 0; k < count; ++k) {
        // The order of the additions is each program's own.
        const double offset =
            is_pillow ? static_cast<double>(k + first) - center + 0.5
                      : static_cast<double>(k) + (static_cast<double>(first) - center) + 0.5;
        row[k] = weight_at(offset * narrowing, filter, dialect);
        sum += row[k];
      }
      for (int64_t k = 0; k < count && sum != 0; ++k) {
        row[k] /= sum;
        largest = std::max(largest, row[k]);
      }
    }
  }

  std::vector<Taps> taps;
  int64_t stride = 0;
  std::vector<double> weights;
  double largest = 0;
};

}  // namespace

ResizeAxis::ResizeAxis(ResizeDialect dialect, ResizeFilter filter, int64_t input, int64_t output,
                       int64_t from, int64_t count) {
  const RealAxis real(dialect, filter, input, output);
  const bool splits = !is_torchvision(dialect);
  precision = splits ? kPillowBits : torch_precision(real.largest);
  const auto begin = real.taps.begin() + from;
  taps.assign(begin, begin + count);
  stride = (max_taps() + kTapsAtOnce - 1) / kTapsAtOnce * kTapsAtOnce;
  high.resize(static_cast<std::size_t>(count * stride));
  low.resize(splits ? high.size() : 0);
  for (int64_t i = 0; i < count; ++i) {
    const double* const row = real.weights.data() + (from + i) * real.stride;
    for (int64_t k = 0; k < taps[static_cast<std::size_t>(i)].count; ++k) {
      const auto at = static_cast<std::size_t>(i * stride + k);
      const int64_t weight = round_away(row[k] * static_cast<double>(1 << precision));
      high[at] = static_cast<int16_t>(splits ? weight >> kHalfBits : weight);
      if (splits) {
        low[at] = static_cast<int16_t>(weight & ((1 << kHalfBits) - 1));
      }
    }
  }
}

int64_t ResizeAxis::begin() const {
  int32_t begin = taps.front().first;
  for (const Taps& tap : taps) {
    begin = std::min(begin, tap.first);
  }
  return begin;
}

int64_t ResizeAxis::end() const {
  int32_t end = 0;
  for (const Taps& tap : taps) {
    end = std::max(end, tap.first + tap.count);
  }
  return end;
}

int64_t ResizeAxis::max_taps() const {
  int32_t most = 0;
  for (const Taps& tap : taps) {
    most = std::max(most, tap.count);
  }
  return most;
}

void ResizeAxis::shift(int64_t by) {
  for (Taps& tap : taps) {
    tap.first -= static_cast<int32_t>(by);
  }
}

}  // namespace torchfeed
