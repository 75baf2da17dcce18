// SPDX-License-Identifier: Apache-2.0
#include "core/image/augment/color.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "core/image/augment/fused_target.h"

namespace torchfeed {
namespace {

constexpr float kByte = 255;

/// Pixels in float32, one channel after another, so that loops over them become vector
/// instructions.
constexpr int64_t kColorBlock = 64;
struct Block {
  std::array<float, kColorBlock> red;
  std::array<float, kColorBlock> green;
  std::array<float, kColorBlock> blue;
};

TORCHFEED_INLINE uint8_t truncated(float number) {
  return static_cast<uint8_t>(static_cast<int32_t>(number));
}

TORCHFEED_INLINE float clamped(float number, float max) {
  const float positive = number > 0 ? number : 0;
  return positive < max ? positive : max;
}

TORCHFEED_INLINE void load(const uint8_t* data, int64_t count, Block& block) {
  for (int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<size_t>(i);
    block.red[place] = data[3 * i];
    block.green[place] = data[3 * i + 1];
    block.blue[place] = data[3 * i + 2];
  }
}

TORCHFEED_INLINE void store(const Block& block, int64_t count, uint8_t* data) {
  for (int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<size_t>(i);
    data[3 * i] = truncated(block.red[place]);
    data[3 * i + 1] = truncated(block.green[place]);
    data[3 * i + 2] = truncated(block.blue[place]);
  }
}

/// Applies a change to all pixels, a block at a time, the last one filled with black. A change is a
/// class whose operator takes a block of bytes and leaves numbers from 0 to less than 256 there.
template <class Change>
TORCHFEED_INLINE void change_blocks(Pixels pixels, const Change& change) {
  Block block{};
  const int64_t count = pixels.width * pixels.height;
  for (int64_t done = 0; done < count; done += kColorBlock) {
    const int64_t step = std::min(kColorBlock, count - done);
    uint8_t* const data = pixels.data + 3 * done;
    if (step < kColorBlock) {
      block = {};
    }
    load(data, step, block);
    change(block);
    store(block, step, data);
  }
}

template <class Change>
void change_plainly(Pixels pixels, const Change& change) {
  change_blocks(pixels, change);
}

#ifdef TORCHFEED_FUSED_TARGET
template <class Change>
TORCHFEED_FUSED_TARGET void change_fused(Pixels pixels, const Change& change) {
  change_blocks(pixels, change);
}
#endif

template <class Change>
void change(Pixels pixels, const Change& change) {
#ifdef TORCHFEED_FUSED_TARGET
  if (runs_fused_target()) {
    change_fused(pixels, change);
    return;
  }
#endif
  change_plainly(pixels, change);
}

/// A blend with weights `factor` and 1 - `factor`, subtracted in double as Python does.
struct Blend {
  explicit Blend(double factor)
      : weight(static_cast<float>(factor)), rest(static_cast<float>(1 - factor)) {}

  TORCHFEED_INLINE float operator()(float number, float other) const {
    return clamped(__builtin_fmaf(other, rest, number * weight), kByte);
  }

  float weight;
  float rest;
};

/// Changes each byte by itself.
template <class Function>
struct EachByte {
  TORCHFEED_INLINE void operator()(Block& block) const {
    for (size_t i = 0; i < kColorBlock; ++i) {
      block.red[i] = function(block.red[i]);
      block.green[i] = function(block.green[i]);
      block.blue[i] = function(block.blue[i]);
    }
  }

  Function function;
};

struct Brighten {
  TORCHFEED_INLINE float operator()(float number) const { return clamped(number * weight, kByte); }

  float weight;
};

struct BlendWithMean {
  TORCHFEED_INLINE float operator()(float number) const { return blend(number, mean); }

  Blend blend;
  float mean;
};

TORCHFEED_INLINE float gray_of(float red, float green, float blue) {
  const float gray = __builtin_fmaf(blue, 0.114F, __builtin_fmaf(green, 0.587F, red * 0.2989F));
  return static_cast<float>(static_cast<int32_t>(gray));
}

struct Saturate {
  TORCHFEED_INLINE void operator()(Block& block) const {
    for (size_t i = 0; i < kColorBlock; ++i) {
      const float gray = gray_of(block.red[i], block.green[i], block.blue[i]);
      block.red[i] = blend(block.red[i], gray);
      block.green[i] = blend(block.green[i], gray);
      block.blue[i] = blend(block.blue[i], gray);
    }
  }

  Blend blend;
};

struct Gray {
  TORCHFEED_INLINE void operator()(Block& block) const {
    for (size_t i = 0; i < kColorBlock; ++i) {
      const float gray = gray_of(block.red[i], block.green[i], block.blue[i]);
      block.red[i] = gray;
      block.green[i] = gray;
      block.blue[i] = gray;
    }
  }
};

/// Adds the gray values instead of changing anything.
struct SumOfGray {
  TORCHFEED_INLINE void operator()(Block& block) const {
    int32_t total = 0;
    for (size_t i = 0; i < kColorBlock; ++i) {
      total += static_cast<int32_t>(gray_of(block.red[i], block.green[i], block.blue[i]));
    }
    sum += total;
  }

  int64_t& sum;
};

struct Hue {
  TORCHFEED_INLINE void operator()(Block& block) const {
    for (size_t i = 0; i < kColorBlock; ++i) {
      turn(block.red[i], block.green[i], block.blue[i]);
    }
  }

  /// Through hue, saturation and value, in torchvision's order of operations.
  TORCHFEED_INLINE void turn(float& red, float& green, float& blue) const {
    constexpr float kUnit = 1.0F / 255;
    const float r = red * kUnit;
    const float g = green * kUnit;
    const float b = blue * kUnit;
    const float max = larger(larger(r, g), b);
    const float min = smaller(smaller(r, g), b);
    const bool is_gray = max == min;
    const float s = (max - min) / chosen(is_gray, 1, max);
    const float divisor = chosen(is_gray, 1, max - min);
    const float rc = (max - r) / divisor;
    const float gc = (max - g) / divisor;
    const float bc = (max - b) / divisor;
    const float of_red = bc - gc;
    const float of_green = (rc + 2) - bc;
    const float of_blue = (gc + 4) - rc;
    const float sextant = chosen(max == r, of_red, chosen(max == g, of_green, of_blue));
    const float h6 = turned(fraction(sextant * (1.0F / 6) + 1)) * 6;
    const auto whole = static_cast<int32_t>(h6);
    const float part = h6 - static_cast<float>(whole);
    const int32_t kind = whole < 6 ? whole : 0;

    const float rising = s * part;
    const float pale = 1 - s;
    const float q = clamped((1 - rising) * max, 1);
    const float t = clamped((rising + pale) * max, 1);
    const float p = clamped(pale * max, 1);
    const float red_of_later = chosen(kind == 4, t, max);
    const float red_of_middle = chosen((kind == 2) | (kind == 3), p, red_of_later);
    red = scaled(chosen(kind == 1, q, red_of_middle));
    green = scaled(chosen(kind == 0, t, chosen(kind == 3, q, chosen(kind >= 4, p, max))));
    blue = scaled(chosen(kind == 2, t, chosen(kind == 5, q, chosen(kind <= 1, p, max))));
  }

  /// Selects between numbers that are both computed: branches would rule out vector instructions.
  TORCHFEED_INLINE static float chosen(bool first, float one, float other) {
    const uint32_t mask = 0U - static_cast<uint32_t>(first);
    return std::bit_cast<float>((std::bit_cast<uint32_t>(one) & mask) |
                                (std::bit_cast<uint32_t>(other) & ~mask));
  }

  TORCHFEED_INLINE static float larger(float a, float b) { return chosen(a > b, a, b); }
  TORCHFEED_INLINE static float smaller(float a, float b) { return chosen(a < b, a, b); }

  /// The fraction of a number below 2.
  TORCHFEED_INLINE static float fraction(float number) {
    return number - chosen(number >= 1, 1, 0);
  }

  TORCHFEED_INLINE float turned(float hue) const {
    const float sum = fraction(hue + share);
    return sum + chosen(sum < 0, 1, 0);
  }

  TORCHFEED_INLINE static float scaled(float number) { return number * 255.999F; }

  float share;
};

/// Sharpens the row `middle` but for its first and last pixel, into `target`.
TORCHFEED_INLINE void sharpen_row(const uint8_t* middle, int64_t row_bytes, float weight,
                                  uint8_t* target) {
  const uint8_t* const upper = middle - row_bytes;
  const uint8_t* const lower = middle + row_bytes;
  for (int64_t i = 3; i < row_bytes - 3; ++i) {
    const int32_t own = middle[i];
    const int32_t sum = upper[i - 3] + upper[i] + upper[i + 3] + middle[i - 3] + middle[i + 3] +
                        lower[i - 3] + lower[i] + lower[i + 3] + 5 * own;
    // 13 is odd, so no quotient lies in the middle, and it rounds as the convolution does.
    const int32_t smooth = (2 * sum + 13) / 26;
    const float number =
        __builtin_fmaf(static_cast<float>(smooth - own), weight, static_cast<float>(own));
    target[i] = truncated(clamped(number, kByte));
  }
}

void sharpen_plainly(const uint8_t* middle, int64_t row_bytes, float weight, uint8_t* target) {
  sharpen_row(middle, row_bytes, weight, target);
}

#ifdef TORCHFEED_FUSED_TARGET
TORCHFEED_FUSED_TARGET void sharpen_fused(const uint8_t* middle, int64_t row_bytes, float weight,
                                          uint8_t* target) {
  sharpen_row(middle, row_bytes, weight, target);
}
#endif

}  // namespace

void adjust_brightness(Pixels pixels, double factor) {
  change(pixels, EachByte<Brighten>{{static_cast<float>(factor)}});
}

void adjust_contrast(Pixels pixels, double factor) {
  int64_t sum = 0;
  change(pixels, SumOfGray{sum});
  const float mean = static_cast<float>(sum) / static_cast<float>(pixels.width * pixels.height);
  change(pixels, EachByte<BlendWithMean>{{Blend(factor), mean}});
}

void adjust_saturation(Pixels pixels, double factor) { change(pixels, Saturate{Blend(factor)}); }

void adjust_hue(Pixels pixels, double share) { change(pixels, Hue{static_cast<float>(share)}); }

void adjust_sharpness(Pixels pixels, double factor, std::vector<uint8_t>& spare) {
  const int64_t row_bytes = 3 * pixels.width;
  const auto weight = static_cast<float>(1 - factor);
  auto* sharpen = sharpen_plainly;
#ifdef TORCHFEED_FUSED_TARGET
  if (runs_fused_target()) {
    sharpen = sharpen_fused;
  }
#endif
  spare.assign(pixels.data, pixels.data + row_bytes * pixels.height);
  for (int64_t y = 1; y + 1 < pixels.height; ++y) {
    sharpen(spare.data() + y * row_bytes, row_bytes, weight, pixels.data + y * row_bytes);
  }
}

void to_gray(Pixels pixels) { change(pixels, Gray{}); }

}  // namespace torchfeed
