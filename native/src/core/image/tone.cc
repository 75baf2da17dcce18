// SPDX-License-Identifier: Apache-2.0
#include "core/image/tone.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/image/byte_table.h"

namespace torchfeed {
namespace {

using Histogram = std::array<int64_t, 256>;

std::array<Histogram, 3> histograms_of(Pixels pixels) {
  std::array<Histogram, 3> histograms{};
  const uint8_t* const end = pixels.data + 3 * pixels.width * pixels.height;
  for (const uint8_t* pixel = pixels.data; pixel != end; pixel += 3) {
    ++histograms[0][pixel[0]];
    ++histograms[1][pixel[1]];
    ++histograms[2][pixel[2]];
  }
  return histograms;
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
    return table_of([](int byte) { return byte; });
  }
  const float unit = static_cast<float>(max - min) * (1.0F / 255);
  return table_of([&](int byte) {
    const float stretched = static_cast<float>(byte - min) / unit;
    return static_cast<int>(std::clamp(stretched, 0.0F, 255.0F));
  });
}

ByteTable spreading(const Histogram& histogram, int64_t pixels) {
  const int64_t step = (pixels - histogram[static_cast<size_t>(last_byte(histogram))]) / 255;
  if (step == 0) {
    return table_of([](int byte) { return byte; });
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
  const int mask = 0xff00 >> bits;
  replace(pixels, table_of([&](int byte) { return byte & mask; }));
}

void solarize(Pixels pixels, double threshold) {
  const auto bound = static_cast<float>(threshold);
  replace(pixels, table_of([&](int byte) {
            return static_cast<float>(byte) >= bound ? 255 - byte : byte;
          }));
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
  replace(pixels, table_of([](int byte) { return 255 - byte; }));
}

}  // namespace torchfeed
