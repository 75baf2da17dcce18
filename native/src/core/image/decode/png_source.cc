// SPDX-License-Identifier: Apache-2.0
#include "core/image/decode/png_source.h"

#include <png.h>

#include <array>
#include <climits>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace torchfeed {
namespace {

/// Pillow reads such a file, as it does not compare this checksum.
constexpr std::string_view kWrongChecksum = "IDAT: CRC error";

/// The decoder of libpng. Its callbacks leave by `longjmp`, so the functions that call it have no
/// object with a destructor.
struct PngDecoder {
  PngDecoder() = default;
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { png_destroy_read_struct(&png, &info, nullptr); }

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const uint8_t> rest;
  std::jmp_buf on_error{};
  std::array<char, 256> message{};
};

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  auto& decoder = *static_cast<PngDecoder*>(png_get_error_ptr(png));
  std::snprintf(decoder.message.data(), decoder.message.size(), "%s", message);
  std::longjmp(decoder.on_error, 1);
}

void ignore(png_structp, png_const_charp) {}

void read(png_structp png, png_bytep target, std::size_t bytes) {
  auto& decoder = *static_cast<PngDecoder*>(png_get_io_ptr(png));
  if (bytes > decoder.rest.size()) {
    png_error(png, "it is cut off");
  }
  std::memcpy(target, decoder.rest.data(), bytes);
  decoder.rest = decoder.rest.subspan(bytes);
}

bool read_header(PngDecoder& decoder) {
  if (setjmp(decoder.on_error) != 0) {
    return false;
  }
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, fail, ignore);
  if (decoder.png == nullptr) {
    return false;
  }
  decoder.info = png_create_info_struct(decoder.png);
  if (decoder.info == nullptr) {
    png_error(decoder.png, "out of memory");
  }
  png_set_read_fn(decoder.png, &decoder, read);
  png_read_info(decoder.png, decoder.info);
  return true;
}

/// Makes bytes of a row of 16 bits: numbers above 255 become 255.
void clip(png_structp, png_row_infop row, png_bytep data) {
  const std::size_t samples = row->rowbytes / 2;
  for (std::size_t i = 0; i < samples; ++i) {
    data[i] = data[2 * i] > 0 ? uint8_t{255} : data[2 * i + 1];
  }
}

/// Makes all kinds 8-bit RGB.
///
/// @param clips_gray16  whether gray pixels of 16 bits are clipped; otherwise their high byte
/// counts
/// @param interlaced  receives whether the image must be read as a whole
bool start(PngDecoder& decoder, bool clips_gray16, bool& interlaced) {
  png_structp png = decoder.png;
  if (setjmp(decoder.on_error) != 0) {
    return false;
  }
  const int color = png_get_color_type(png, decoder.info);
  if (color == PNG_COLOR_TYPE_PALETTE) {
    png_set_palette_to_rgb(png);
  } else if ((color & PNG_COLOR_MASK_COLOR) == 0) {
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_gray_to_rgb(png);
  }
  if (clips_gray16 && color == PNG_COLOR_TYPE_GRAY &&
      png_get_bit_depth(png, decoder.info) == 2 * CHAR_BIT) {
    png_set_read_user_transform_fn(png, clip);
    png_set_user_transform_info(png, nullptr, CHAR_BIT, 3);
  } else {
    png_set_strip_16(png);
  }
  png_set_strip_alpha(png);
  interlaced = png_set_interlace_handling(png) > 1;
  png_read_update_info(png, decoder.info);
  if (png_get_rowbytes(png, decoder.info) !=
      std::size_t{3} * png_get_image_width(png, decoder.info)) {
    png_error(png, "the rows are not RGB");
  }
  return true;
}

bool read_row(PngDecoder& decoder, uint8_t* row) {
  if (setjmp(decoder.on_error) != 0) {
    return false;
  }
  png_read_row(decoder.png, row, nullptr);
  return true;
}

bool read_all(PngDecoder& decoder, uint8_t** rows) {
  if (setjmp(decoder.on_error) != 0) {
    return false;
  }
  png_read_image(decoder.png, rows);
  return true;
}

class PngSource final : public ImageSource {
 public:
  PngSource(std::span<const uint8_t> encoded, const DecodeOptions& options)
      : clips_gray16_(options.clips_gray16) {
    decoder_.rest = encoded;
    check(read_header(decoder_));
    require_pixels(width(), height(), options.max_pixels);
  }

  [[nodiscard]] int64_t width() const override {
    return png_get_image_width(decoder_.png, decoder_.info);
  }
  [[nodiscard]] int64_t height() const override {
    return png_get_image_height(decoder_.png, decoder_.info);
  }

  void begin(const Region& region) override {
    check(start(decoder_, clips_gray16_, interlaced_));
    row_bytes_ = 3 * static_cast<std::size_t>(width());
    next_ = 3 * static_cast<std::size_t>(region.left);
    const auto rows = interlaced_ ? static_cast<std::size_t>(height()) : 1;
    pixels_.resize(rows * row_bytes_ + kRowSlack);
    if (interlaced_) {
      std::vector<uint8_t*> pointers(rows);
      for (std::size_t y = 0; y < rows; ++y) {
        pointers[y] = pixels_.data() + y * row_bytes_;
      }
      check(read_all(decoder_, pointers.data()));
      next_ += static_cast<std::size_t>(region.top) * row_bytes_;
      return;
    }
    for (int64_t y = 0; y < region.top; ++y) {
      check(read_row(decoder_, pixels_.data()));
    }
  }

  const uint8_t* next_row() override {
    const uint8_t* const row = pixels_.data() + next_;
    if (interlaced_) {
      next_ += row_bytes_;
    } else {
      check(read_row(decoder_, pixels_.data()));
    }
    return row;
  }

 private:
  void check(bool succeeded) const {
    if (!succeeded) {
      const std::string reason = decoder_.message.data();
      throw_damaged("the PNG is damaged: " + reason +
                    (reason == kWrongChecksum
                         ? "; Pillow does not compare this checksum: save it again with Pillow"
                         : ""));
    }
  }

  const bool clips_gray16_;
  PngDecoder decoder_;
  bool interlaced_ = false;
  std::size_t row_bytes_ = 0;    // of the image
  std::size_t next_ = 0;         // offset of the next row of the region
  std::vector<uint8_t> pixels_;  // a row, or all rows if they are interlaced
};

}  // namespace

std::unique_ptr<ImageSource> open_png(std::span<const uint8_t> encoded,
                                      const DecodeOptions& options) {
  return std::make_unique<PngSource>(encoded, options);
}

}  // namespace torchfeed
