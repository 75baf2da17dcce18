// SPDX-License-Identifier: Apache-2.0
#include "core/rows/recipe_column.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "core/stream_copy.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr int64_t kMostTransforms = 1000;

template <class Word>
void copy_reversed(std::byte* target, const std::byte* source, std::size_t count) {
  const std::byte* last = source + count * sizeof(Word);
  for (std::size_t i = 0; i < count; ++i) {
    last -= sizeof(Word);
    std::memcpy(target + i * sizeof(Word), last, sizeof(Word));
  }
}

void copy_bytes_reversed(std::byte* target, const std::byte* source, std::size_t count) {
  constexpr std::size_t kAtOnce = sizeof(uint64_t);
  if (count < kAtOnce) {
    return copy_reversed<uint8_t>(target, source, count);
  }
  for (std::size_t done = 0; done < count; done += kAtOnce) {
    const std::size_t at = std::min(done, count - kAtOnce);  // the last ones overlap
    uint64_t bytes = 0;
    std::memcpy(&bytes, source + count - at - kAtOnce, kAtOnce);
    bytes = __builtin_bswap64(bytes);
    std::memcpy(target + at, &bytes, kAtOnce);
  }
}

/// Copies elements of a size in reverse order.
void copy_reversed(std::byte* target, const std::byte* source, std::size_t count,
                   std::size_t bytes) {
  switch (bytes) {
    case 1:
      return copy_bytes_reversed(target, source, count);
    case 2:
      return copy_reversed<uint16_t>(target, source, count);
    case 4:
      return copy_reversed<uint32_t>(target, source, count);
    default:
      return copy_reversed<uint64_t>(target, source, count);
  }
}

}  // namespace

/// The elements of a channel of a result, one after another. They are collected before they are
/// converted: the parts of lines are short.
class RecipeColumn::Strip {
 public:
  Strip(std::byte* target, const RowValues& values, Stores stores)
      : target_(target),
        values_(values),
        stores_(stores),
        bytes_(values.source_bytes()),
        most_(kBytes / bytes_) {}
  Strip(const Strip&) = delete;
  Strip& operator=(const Strip&) = delete;
  ~Strip() { convert_collected(); }

  void begin_channel(std::size_t channel) {
    convert_collected();
    channel_ = channel;
  }

  void add_zeros(std::size_t count) {
    collect(count, [this](std::byte* to, std::size_t /*done*/, std::size_t here) {
      std::memset(to, 0, here * bytes_);
    });
  }

  void add(const std::byte* source, std::size_t count) {
    if (count >= kLong) {
      convert_collected();
      return convert(source, count);
    }
    collect(count, [this, source](std::byte* to, std::size_t done, std::size_t here) {
      std::memcpy(to, source + done * bytes_, here * bytes_);
    });
  }

  void add_reversed(const std::byte* source, std::size_t count) {
    collect(count, [this, source, count](std::byte* to, std::size_t done, std::size_t here) {
      copy_reversed(to, source + (count - done - here) * bytes_, here, bytes_);
    });
  }

 private:
  static constexpr std::size_t kLong = 512;
  static constexpr std::size_t kBytes = 8192;

  template <class Copy>
  void collect(std::size_t count, const Copy& copy) {
    for (std::size_t done = 0; done < count;) {
      if (collected_ == most_) {
        convert_collected();
      }
      const std::size_t here = std::min(count - done, most_ - collected_);
      copy(elements_.data() + collected_ * bytes_, done, here);
      collected_ += here;
      done += here;
    }
  }

  void convert(const std::byte* source, std::size_t count) {
    values_.convert(target_, source, count, channel_, stores_);
    target_ += count * values_.result_bytes();
  }

  void convert_collected() {
    convert(elements_.data(), collected_);
    collected_ = 0;
  }

  std::byte* target_;
  const RowValues& values_;
  const Stores stores_;
  const std::size_t bytes_;
  const std::size_t most_;
  std::size_t channel_ = 0;
  std::size_t collected_ = 0;
  alignas(kCacheLine) std::array<std::byte, kBytes> elements_;
};

RecipeColumn::RecipeColumn(const SharedColumn& source, const RowRecipe& recipe)
    : TransformedColumn(source, result_of(recipe, source->row())),
      recipe_(recipe),
      values_(recipe, source->row().dtype, row().dtype),
      stream_(source->random_streams()) {
  if (stream_ >= kMostTransforms) {  // their destructors call one another
    throw Error(ErrorCode::kInvalidArgument, "rows can be transformed at most " +
                                                 std::to_string(kMostTransforms) +
                                                 " times, one after the other");
  }
  const std::vector<int64_t>& sizes = source->row().sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    int64_t& length = i + 1 == sizes.size() ? width_ : i + 2 == sizes.size() ? height_ : planes_;
    length *= sizes[i];
  }
}

void RecipeColumn::transform(std::byte* target, const std::byte* source, const SampleKey& key,
                             Stores stores) const {
  if (row().bytes == 0) {
    return;
  }
  const auto plane = static_cast<std::size_t>(height_ * width_);
  const auto planes = static_cast<std::size_t>(planes_);
  const std::size_t channels = values_.channels();
  if (!recipe_.changes_place()) {
    const std::size_t parts = channels == 1 ? 1 : planes;
    const std::size_t length = channels == 1 ? planes * plane : plane;
    for (std::size_t i = 0; i < parts; ++i) {
      values_.convert(target + i * length * values_.result_bytes(),
                      source + i * length * values_.source_bytes(), length, i % channels, stores);
    }
    return;
  }
  SampleWords words(key.seed, key.epoch, key.index, stream_);
  const RowPart part = draw_part(recipe_, words, height_, width_);
  Strip strip(target, values_, stores);
  for (std::size_t i = 0; i < planes; ++i) {
    if (channels > 1) {
      strip.begin_channel(i % channels);
    }
    transform_plane(strip, source + i * plane * values_.source_bytes(), part);
  }
}

void RecipeColumn::transform_plane(Strip& strip, const std::byte* source,
                                   const RowPart& part) const {
  const Box& box = part.box;
  const int64_t left = std::clamp<int64_t>(-box.left, 0, box.width);
  const int64_t end = std::clamp(width_ - box.left, left, box.width);
  const auto before = static_cast<std::size_t>(left);
  const auto within = static_cast<std::size_t>(end - left);
  const auto after = static_cast<std::size_t>(box.width - end);
  for (int64_t y = box.top; y < box.top + box.height; ++y) {
    if (y < 0 || y >= height_ || within == 0) {
      strip.add_zeros(static_cast<std::size_t>(box.width));
      continue;
    }
    const std::byte* const line =
        source + static_cast<std::size_t>(y * width_ + box.left + left) * values_.source_bytes();
    strip.add_zeros(part.flips ? after : before);
    if (part.flips) {
      strip.add_reversed(line, within);
    } else {
      strip.add(line, within);
    }
    strip.add_zeros(part.flips ? before : after);
  }
}

}  // namespace torchfeed
