// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/tone.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace torchfeed {
namespace {

/// A new value for each byte.
using ByteTable = std::array<uint8_t, 256>;

using Histogram = std::array<int64_t, 256>;

uint8_t* end_of(Pixels pixels) { return pixels.data + 3 * pixels.width * pixels.height; }

std::array<Histogram, 3> histograms_of(Pixels pixels) {
  std::array<Histogram, 3> histograms{};
  const uint8_t* const end = end_of(pixels);
  for (const uint8_t* pixel = pixels.data; pixel != end; pixel += 3) {
    ++histograms[0][pixel[0]];
    ++histograms[1][pixel[1]];
    ++histograms[2][pixel[2]];
  }
  return histograms;
}

ByteTable unchanged() {
  ByteTable table;
  std::iota(table.begin(), table.end(), uint8_t{0});
  return table;
}

/// Replaces each byte by the table of its channel.
void replace(Pixels pixels, const std::array<ByteTable, 3>& tables) {
  uint8_t* const end = end_of(pixels);
  for (uint8_t* pixel = pixels.data; pixel != end; pixel += 3) {
    pixel[0] = tables[0][pixel[0]];
    pixel[1] = tables[1][pixel[1]];
    pixel[2] = tables[2][pixel[2]];
  }
}

int first_byte(const Histogram& histogram) {
  const auto* const first =
      std::find_if(histogram.begin(), histogram.end(), [](int64_t count) { return count > 0; });
  return static_cast<int>(first - histogram.begin());
}

int last_byte(const Histogram& histogram) {
  const auto last =
      std::find_if(histogram.rbegin(), histogram.rend(), [](int64_t count) { return count > 0; });
  return 255 - static_cast<int>(last - histogram.rbegin());
}

ByteTable stretching(const Histogram& histogram) {
  const int min = first_byte(histogram);
  const int max = last_byte(histogram);
  if (min >= max) {
    return unchanged();
  }
  const float unit = static_cast<float>(max - min) * (1.0F / 255);
  ByteTable table{};
  for (int byte = min; byte <= max; ++byte) {
    const float stretched = std::min(static_cast<float>(byte - min) / unit, 255.0F);
    table[static_cast<size_t>(byte)] = static_cast<uint8_t>(stretched);
  }
  return table;
}

ByteTable spreading(const Histogram& histogram, int64_t pixels) {
  const int64_t step = (pixels - histogram[static_cast<size_t>(last_byte(histogram))]) / 255;
  if (step == 0) {
    return unchanged();
  }
  int64_t below = 0;
  ByteTable table{};
  for (size_t byte = 0; byte < table.size(); ++byte) {
    table[byte] = static_cast<uint8_t>(std::min<int64_t>((below + step / 2) / step, 255));
    below += histogram[byte];
  }
  return table;
}

}  // namespace

void posterize(Pixels pixels, int bits) {
  const auto mask = static_cast<uint8_t>(0xff00 >> bits);
  std::for_each(pixels.data, end_of(pixels), [mask](uint8_t& byte) { byte &= mask; });
}

void solarize(Pixels pixels, double threshold) {
  // A byte reaches the threshold, which torch rounds to float32, if it reaches the next integer.
  const auto bound = std::ceil(std::max(static_cast<float>(threshold), 0.0F));
  const auto least = static_cast<uint8_t>(bound);
  std::for_each(pixels.data, end_of(pixels), [least](uint8_t& byte) {
    byte = byte >= least ? static_cast<uint8_t>(~byte) : byte;
  });
}

void autocontrast(Pixels pixels) {
  const auto histograms = histograms_of(pixels);
  replace(pixels, std::array{stretching(histograms[0]), stretching(histograms[1]),
                             stretching(histograms[2])});
}

void equalize(Pixels pixels) {
  const auto histograms = histograms_of(pixels);
  const int64_t count = pixels.width * pixels.height;
  replace(pixels, std::array{spreading(histograms[0], count), spreading(histograms[1], count),
                             spreading(histograms[2], count)});
}

void invert(Pixels pixels) {
  std::for_each(pixels.data, end_of(pixels),
                [](uint8_t& byte) { byte = static_cast<uint8_t>(~byte); });
}

}  // namespace torchfeed
