// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/blur.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "core/image/augment/fused_target.h"
#include "core/image/augment/gaussian_weights.h"

namespace torchfeed {
namespace {

constexpr float kMaxByte = 255;
constexpr std::size_t kBatch = 8;  // sums at a time, since each addition waits for the one before

/// The weights of a square, row by row.
std::vector<float> products(const std::vector<float>& weights) {
  std::vector<float> products;
  for (const float vertical : weights) {
    for (const float horizontal : weights) {
      products.push_back(vertical * horizontal);
    }
  }
  return products;
}

/// Returns by how much the sum of a byte in two passes and the one in torchvision's order may
/// differ. There, an addition errs by at most 2^-24 of its result, and by no more than the product
/// that is added; two passes round as often as they have weights.
float doubt_of(const std::vector<float>& products, std::size_t kernel) {
  constexpr double kRounding = 0x1p-24;
  constexpr double kMargin = 1.01;  // the weights add up to a little more than 1
  constexpr double kFewMore = 12;   // roundings: of the products, and of the half that is added
  double sum = 0;
  double error = kRounding * (static_cast<double>(kernel) + kFewMore);
  for (const double product : products) {
    sum += product;
    error += std::min(product, kRounding * sum);
  }
  return static_cast<float>(kMargin * error * kMaxByte);
}

/// A blur of one row after another.
struct RowBlur {
  RowBlur(int64_t kernel, double sigma, int64_t width)
      : weights(gaussian_weights(kernel, sigma)),
        square(products(weights)),
        doubt(doubt_of(square, weights.size())),
        rows(weights.size()),
        column_sums(static_cast<std::size_t>(kChannels * (width + kernel - 1))),
        sums(static_cast<std::size_t>(kChannels * width)),
        is_doubtful(sums.size()) {}

  /// Blurs `rows` into `target`.
  TORCHFEED_INLINE void run(uint8_t* target) {
    add_rows();
    add_columns();
    round(target);
    std::array<std::size_t, kBatch> places{};
    std::size_t count = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (is_doubtful[i] == 0) {
        continue;
      }
      places[count++] = i;
      if (count == kBatch) {
        round_exactly(places, count, target);
        count = 0;
      }
    }
    if (count > 0) {
      round_exactly(places, count, target);
    }
  }

  TORCHFEED_INLINE void add_rows() {
    std::fill(column_sums.begin(), column_sums.end(), 0.0F);
    const std::size_t count = column_sums.size();
    float* const to = column_sums.data();
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const float weight = weights[row];
      const uint8_t* const from = rows[row];
      for (std::size_t i = 0; i < count; ++i) {
        to[i] += weight * static_cast<float>(from[i]);
      }
    }
  }

  TORCHFEED_INLINE void add_columns() {
    std::fill(sums.begin(), sums.end(), 0.0F);
    const std::size_t count = sums.size();
    float* const to = sums.data();
    for (std::size_t column = 0; column < weights.size(); ++column) {
      const float weight = weights[column];
      const float* const from = column_sums.data() + kChannels * column;
      for (std::size_t i = 0; i < count; ++i) {
        to[i] += weight * from[i];
      }
    }
  }

  TORCHFEED_INLINE void round(uint8_t* target) {
    const std::size_t count = sums.size();
    const float* const from = sums.data();
    uint8_t* const doubtful = is_doubtful.data();
    const float least = doubt;
    const float most = 1 - doubt;
    for (std::size_t i = 0; i < count; ++i) {
      const float raised = from[i] + 0.5F;
      const auto whole = static_cast<int32_t>(raised);
      const float part = raised - static_cast<float>(whole);
      target[i] = static_cast<uint8_t>(whole < 255 ? whole : 255);
      doubtful[i] = static_cast<uint8_t>((part < least) | (part > most));
    }
  }

  /// Adds in torchvision's order.
  TORCHFEED_INLINE void round_exactly(const std::array<std::size_t, kBatch>& places,
                                      std::size_t count, uint8_t* target) const {
    std::array<float, kBatch> exact{};
    const float* weight = square.data();
    for (const uint8_t* const row : rows) {
      for (std::size_t column = 0; column < weights.size(); ++column, ++weight) {
        const uint8_t* const from = row + kChannels * column;
        for (std::size_t i = 0; i < kBatch; ++i) {
          exact[i] = __builtin_fmaf(static_cast<float>(from[places[i]]), *weight, exact[i]);
        }
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      target[places[i]] = static_cast<uint8_t>(std::min(kMaxByte, std::nearbyint(exact[i])));
    }
  }

  const std::vector<float> weights;  // of one axis
  const std::vector<float> square;
  const float doubt;
  std::vector<const uint8_t*> rows;  // around the row, each with pixels beside the image
  std::vector<float> column_sums;
  std::vector<float> sums;
  std::vector<uint8_t> is_doubtful;
};

void run_plainly(RowBlur& blur, uint8_t* target) { blur.run(target); }

#ifdef TORCHFEED_FUSED_TARGET
TORCHFEED_FUSED_TARGET void run_fused(RowBlur& blur, uint8_t* target) { blur.run(target); }
#endif

/// Returns the place in the image that is seen at a place beside it.
int64_t mirrored(int64_t place, int64_t side) {
  if (side == 1) {
    return 0;
  }
  while (place < 0 || place >= side) {
    place = place < 0 ? -place : 2 * (side - 1) - place;
  }
  return place;
}

/// Copies the rows, with `reach` reflected pixels on both sides of each.
void copy_reflected(Pixels pixels, int64_t reach, std::vector<uint8_t>& copy) {
  const int64_t width = pixels.width + 2 * reach;
  copy.resize(static_cast<std::size_t>(kChannels * width * pixels.height));
  for (int64_t y = 0; y < pixels.height; ++y) {
    const uint8_t* const from = pixels.data + kChannels * pixels.width * y;
    uint8_t* const to = copy.data() + kChannels * width * y;
    std::copy_n(from, kChannels * pixels.width, to + kChannels * reach);
    for (int64_t x = 1; x <= reach; ++x) {
      const int64_t right = pixels.width - 1 + x;
      std::copy_n(from + kChannels * mirrored(-x, pixels.width), kChannels,
                  to + kChannels * (reach - x));
      std::copy_n(from + kChannels * mirrored(right, pixels.width), kChannels,
                  to + kChannels * (reach + right));
    }
  }
}

}  // namespace

void gaussian_blur(Pixels pixels, int64_t kernel, double sigma, std::vector<uint8_t>& spare) {
  auto* run = run_plainly;
#ifdef TORCHFEED_FUSED_TARGET
  if (runs_fused_target()) {
    run = run_fused;
  }
#endif
  const int64_t reach = kernel / 2;
  copy_reflected(pixels, reach, spare);
  const int64_t row_bytes = kChannels * (pixels.width + 2 * reach);
  RowBlur blur(kernel, sigma, pixels.width);
  for (int64_t y = 0; y < pixels.height; ++y) {
    for (int64_t i = 0; i < kernel; ++i) {
      blur.rows[static_cast<std::size_t>(i)] =
          spare.data() + row_bytes * mirrored(y + i - reach, pixels.height);
    }
    run(blur, pixels.data + kChannels * pixels.width * y);
  }
}

}  // namespace torchfeed
