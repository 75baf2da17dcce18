// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/image/decode/other_sources.h"
#include "core/image/decode/whole_source.h"
#include "core/image/pixels.h"

namespace torchfeed {
namespace {

constexpr std::size_t kMostCodes = 4096;
constexpr unsigned kMostBits = 12;

/// The codes of compressed data (LZW), which stand in blocks of up to 255 bytes.
class Codes {
 public:
  explicit Codes(EncodedBytes& bytes) : bytes_(bytes) {}

  /// Returns the next code, or nothing behind the last block.
  std::optional<unsigned> next(unsigned bits) {
    while (count_ < bits) {
      if (left_ == 0) {
        left_ = bytes_.byte();
        if (left_ == 0) {
          return std::nullopt;
        }
      }
      held_ |= static_cast<uint32_t>(bytes_.byte()) << count_;
      --left_;
      count_ += 8;
    }
    const unsigned code = held_ & ((1U << bits) - 1);
    held_ >>= bits;
    count_ -= bits;
    return code;
  }

 private:
  EncodedBytes& bytes_;
  std::size_t left_ = 0;  // bytes of the block
  uint32_t held_ = 0;
  unsigned count_ = 0;  // bits held
};

class GifSource final : public WholeSource {
 public:
  GifSource(std::span<const uint8_t> encoded, int64_t max_pixels) : bytes_(encoded, "GIF") {
    bytes_.go_to(6);
    int64_t width = bytes_.little(2);
    int64_t height = bytes_.little(2);
    const uint8_t flags = bytes_.byte();
    bytes_.take(2);
    read_palette(flags);
    find_frame();
    frame_.left = bytes_.little(2);
    frame_.top = bytes_.little(2);
    frame_.width = bytes_.little(2);
    frame_.height = bytes_.little(2);
    const uint8_t frame_flags = bytes_.byte();
    is_interlaced_ = (frame_flags & 0x40) != 0;
    read_palette(frame_flags);
    width = std::max(width, frame_.left + frame_.width);
    height = std::max(height, frame_.top + frame_.height);
    set_size(width, height, max_pixels);
  }

 private:
  void read_palette(uint8_t flags) {
    if ((flags & 0x80) != 0) {
      const std::size_t colors = std::size_t{2} << (flags & 7);
      const auto rgb = bytes_.take(3 * colors);
      for (std::size_t i = 0; i < colors; ++i) {
        std::copy_n(rgb.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, palette_[i].begin());
      }
      complete(palette_, colors);
    }
  }

  /// Goes to the descriptor of the first frame.
  void find_frame() {
    constexpr uint8_t kExtension = '!';
    constexpr uint8_t kFrame = ',';
    constexpr uint8_t kEnd = ';';
    constexpr uint8_t kControl = 249;
    for (uint8_t byte = bytes_.byte(); byte != kFrame; byte = bytes_.byte()) {
      if (byte == kEnd) {
        throw_damaged("the GIF has no image");
      }
      if (byte != kExtension) {
        continue;
      }
      const bool is_control = bytes_.byte() == kControl;
      for (uint8_t length = bytes_.byte(); length > 0; length = bytes_.byte()) {
        const auto block = bytes_.take(length);
        if (is_control && length >= 4 && (block[0] & 1) != 0) {
          background_ = block[3];
        }
      }
    }
  }

  void decode(uint8_t* rgb) override {
    const auto pixels = static_cast<std::size_t>(width() * height());
    for (std::size_t i = 0; i < pixels; ++i) {
      std::copy_n(palette_[background_].begin(), 3, rgb + 3 * i);
    }
    const std::vector<uint8_t> indices = decode_indices();
    const auto across = static_cast<std::size_t>(frame_.width);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const int64_t y = frame_.top + row_of(static_cast<int64_t>(i / across));
      const int64_t x = frame_.left + static_cast<int64_t>(i % across);
      std::copy_n(palette_[indices[i]].begin(), 3, rgb + kChannels * (y * width() + x));
    }
  }

  /// Returns the row in the frame of a stored one.
  [[nodiscard]] int64_t row_of(int64_t stored) const {
    if (!is_interlaced_) {
      return stored;
    }
    for (const auto& [first, step] : {std::array<int64_t, 2>{0, 8}, {4, 8}, {2, 4}, {1, 2}}) {
      const int64_t rows = (frame_.height - first + step - 1) / step;
      if (stored < rows) {
        return first + stored * step;
      }
      stored -= std::max<int64_t>(0, rows);
    }
    return frame_.height - 1;
  }

  std::vector<uint8_t> decode_indices() {
    const unsigned least = bytes_.byte();
    if (least > kMostBits - 1) {
      throw_damaged("the codes of a GIF must have at most 12 bits");
    }
    const unsigned clear = 1U << least;
    const auto pixels = static_cast<std::size_t>(frame_.width * frame_.height);
    std::vector<uint8_t> indices;
    indices.reserve(pixels);
    std::array<uint16_t, kMostCodes> before{};  // the code without its last index
    std::array<uint8_t, kMostCodes> last{};     // the last index
    std::vector<uint8_t> reversed;
    unsigned bits = least + 1;
    unsigned next = clear + 2;
    constexpr unsigned kNone = kMostCodes;
    unsigned previous = kNone;
    Codes codes(bytes_);
    while (indices.size() < pixels) {
      const auto code = codes.next(bits);
      if (!code) {
        throw_damaged("the GIF is cut off");
      }
      if (*code == clear) {
        bits = least + 1;
        next = clear + 2;
        previous = kNone;
        continue;
      }
      if (*code == clear + 1) {
        throw_damaged("the GIF ends after " + std::to_string(indices.size()) + " of " +
                      std::to_string(pixels) + " pixels");
      }
      if (*code > next || (previous == kNone && *code > clear)) {
        throw_damaged("the GIF is damaged");
      }
      reversed.clear();
      unsigned at = *code == next ? previous : *code;
      for (; at > clear; at = before[at]) {
        reversed.push_back(last[at]);
      }
      const auto first = static_cast<uint8_t>(at);
      indices.push_back(first);
      indices.insert(indices.end(), reversed.rbegin(), reversed.rend());
      if (*code == next) {
        indices.push_back(first);
      }
      if (previous != kNone && next < kMostCodes) {
        before[next] = static_cast<uint16_t>(previous);
        last[next] = first;
        ++next;
        bits += next == 1U << bits && bits < kMostBits ? 1 : 0;
      }
      previous = *code;
    }
    indices.resize(pixels);
    return indices;
  }

  EncodedBytes bytes_;
  Palette palette_ = gray_palette();
  uint8_t background_ = 0;
  Region frame_{};
  bool is_interlaced_ = false;
};

}  // namespace

std::unique_ptr<ImageSource> open_gif(std::span<const uint8_t> encoded, int64_t max_pixels) {
  return std::make_unique<GifSource>(encoded, max_pixels);
}

}  // namespace torchfeed
