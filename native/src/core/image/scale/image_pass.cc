// SPDX-License-Identifier: Apache-2.0
#include "core/image/scale/image_pass.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "core/image/pixels.h"

namespace torchfeed {
namespace {

/// One axis of a placement: the part of the output that shows the image, and its input pixels.
struct AxisPart {
  AxisPart(const Resize& resize, int64_t input, int64_t output, int64_t window, int64_t length)
      : padding(std::max<int64_t>(0, -window)) {
    const int64_t from = std::max<int64_t>(0, window);
    count = std::max<int64_t>(0, std::min(output, window + length) - from);
    if (input == output) {
      first = from;
      end = from + count;
    } else if (count > 0) {
      axis.emplace(resize.dialect, resize.filter, input, output, from, count);
      first = axis->begin();
      end = axis->end();
      axis->shift(first);
      resize.kernels->prepare(*axis);
    }
  }

  /// Returns how many decoded pixels output pixel `i` needs before it can be computed.
  [[nodiscard]] int64_t needed(int64_t i) const {
    if (!axis) {
      return i + 1;
    }
    const Taps& taps = axis->taps[static_cast<std::size_t>(i)];
    return taps.first + taps.count;
  }

  int64_t padding;    // output pixels before the image
  int64_t count = 0;  // output pixels that show the image
  int64_t first = 0;  // the first input pixel used
  int64_t end = 0;
  std::optional<ResizeAxis> axis;  // none if the axis is not scaled
};

/// Returns whether the height is scaled before the width.
bool begins_with_height(ResizeDialect dialect, const Placement& placement) {
  const int64_t rows_lost = placement.crop.height - placement.height;
  const int64_t columns_lost = placement.crop.width - placement.width;
  return dialect == ResizeDialect::kPillow && rows_lost > 0 && rows_lost > 2 * columns_lost;
}

/// The last rows of an image: the input of rows of another height.
class RowRing {
 public:
  RowRing(const ResizeAxis& axis, const ResampleKernels& kernels, int64_t width)
      : axis_(axis),
        kernels_(kernels),
        bytes_(kChannels * width),
        stride_(bytes_ + static_cast<int64_t>(kRowSlack)),
        capacity_(axis.max_taps()),
        pixels_(static_cast<std::size_t>(capacity_ * stride_)),
        rows_(static_cast<std::size_t>(capacity_) + kSpareRows) {}

  [[nodiscard]] uint8_t* row(int64_t number) {
    return pixels_.data() + number % capacity_ * stride_;
  }

  /// Computes an output row whose last input row has arrived.
  void compute(uint8_t* target, int64_t output) {
    const Taps& taps = axis_.taps[static_cast<std::size_t>(output)];
    for (int64_t k = 0; k < taps.count; ++k) {
      rows_[static_cast<std::size_t>(k)] = row(taps.first + k);
    }
    std::fill_n(rows_.begin() + taps.count, kSpareRows, rows_[0]);  // with weight 0
    kernels_.vertical(target, rows_.data(), axis_, output, bytes_);
  }

 private:
  static constexpr std::size_t kSpareRows = 3;

  const ResizeAxis& axis_;
  const ResampleKernels& kernels_;
  const int64_t bytes_;
  const int64_t stride_;
  const int64_t capacity_;
  std::vector<uint8_t> pixels_;
  std::vector<const uint8_t*> rows_;
};

/// One pass over the rows of an image.
class Pass {
 public:
  Pass(ImageSource& source, const Placement& placement, const Resize& resize, PixelStore& store)
      : source_(source),
        kernels_(*resize.kernels),
        store_(store),
        columns_(resize, placement.crop.width, placement.width, placement.window.left,
                 placement.window.width),
        rows_(resize, placement.crop.height, placement.height, placement.window.top,
              placement.window.height),
        rows_first_(columns_.axis && rows_.axis && begins_with_height(resize.dialect, placement)),
        line_(static_cast<std::size_t>(kChannels * placement.window.width) + kRowSlack),
        height_(placement.window.height) {
    const int64_t decoded = columns_.end - columns_.first;
    if (rows_.axis) {
      ring_.emplace(*rows_.axis, kernels_, rows_first_ ? decoded : columns_.count);
    }
    if (rows_first_) {
      unscaled_.resize(static_cast<std::size_t>(kChannels * decoded) + kRowSlack);
    }
    if (has_image()) {
      source.begin({placement.crop.left + columns_.first, placement.crop.top + rows_.first, decoded,
                    rows_.end - rows_.first});
    }
  }

  void run() {
    int64_t y = 0;
    for (; y < rows_.padding && y < height_; ++y) {
      store_.put_row(y, line_.data());
    }
    int64_t decoded = 0;
    for (int64_t i = 0; has_image() && i < rows_.count; ++i) {
      for (; decoded < rows_.needed(i); ++decoded) {
        take(decoded, source_.next_row());
      }
      if (ring_) {
        compute(i);
      }
      clear_behind();
      store_.put_row(y++, line_.data());
    }
    std::fill(line_.begin(), line_.end(), uint8_t{0});
    for (; y < height_; ++y) {
      store_.put_row(y, line_.data());
    }
  }

 private:
  [[nodiscard]] bool has_image() const { return columns_.count > 0 && rows_.count > 0; }

  [[nodiscard]] uint8_t* image_line() { return line_.data() + kChannels * columns_.padding; }

  /// Takes a decoded row into the ring, or into the line if the height is not scaled.
  void take(int64_t number, const uint8_t* row) {
    uint8_t* const target = ring_ ? ring_->row(number) : image_line();
    if (columns_.axis && !rows_first_) {
      kernels_.horizontal(target, row, *columns_.axis);
    } else {
      std::memcpy(target, row,
                  static_cast<std::size_t>(kChannels * (columns_.end - columns_.first)));
    }
  }

  void compute(int64_t output) {
    if (rows_first_) {
      ring_->compute(unscaled_.data(), output);
      kernels_.horizontal(image_line(), unscaled_.data(), *columns_.axis);
    } else {
      ring_->compute(image_line(), output);
    }
  }

  /// Clears the padding behind the image, which the kernels use as slack.
  void clear_behind() {
    const auto from = static_cast<std::ptrdiff_t>(kChannels * (columns_.padding + columns_.count));
    std::fill(line_.begin() + from, line_.end(), uint8_t{0});
  }

  ImageSource& source_;
  const ResampleKernels& kernels_;
  PixelStore& store_;
  const AxisPart columns_;
  const AxisPart rows_;
  const bool rows_first_;
  std::vector<uint8_t> line_;  // of the window
  const int64_t height_;       // of the window
  std::optional<RowRing> ring_;
  std::vector<uint8_t> unscaled_;  // a row scaled in height only
};

}  // namespace

void pass_image(ImageSource& source, const Placement& placement, const Resize& resize,
                PixelStore& store) {
  Pass(source, placement, resize, store).run();
}

}  // namespace torchfeed
