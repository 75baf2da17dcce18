// SPDX-License-Identifier: Apache-2.0
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/image/decode/oriented_source.h"
#include "core/image/decode/other_sources.h"
#include "core/image/decode/whole_source.h"
#include "core/image/pixels.h"

namespace torchfeed {
namespace {

constexpr tmsize_t kMostMemory = tmsize_t{1} << 30;  // of one object of libtiff

/// The content of a file, as libtiff reads it.
struct TiffBytes {
  std::span<const uint8_t> encoded;
  uint64_t at = 0;
  std::string problem;
  bool lost_palette = false;
};

TiffBytes& bytes_of(thandle_t handle) { return *static_cast<TiffBytes*>(handle); }

tmsize_t read_bytes(thandle_t handle, void* into, tmsize_t count) {
  TiffBytes& file = bytes_of(handle);
  const uint64_t left = file.encoded.size() - std::min<uint64_t>(file.at, file.encoded.size());
  const auto taken = std::min<uint64_t>(left, static_cast<uint64_t>(count));
  if (taken > 0) {
    std::memcpy(into, file.encoded.data() + file.at, taken);
  }
  file.at += taken;
  return static_cast<tmsize_t>(taken);
}

tmsize_t write_nothing(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek(thandle_t handle, toff_t offset, int from) {
  TiffBytes& file = bytes_of(handle);
  const uint64_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? file.at : file.encoded.size();
  return file.at = base + offset;
}

int close_nothing(thandle_t) { return 0; }
toff_t size_of(thandle_t handle) { return bytes_of(handle).encoded.size(); }

int on_error(TIFF*, void* data, const char*, const char* format, std::va_list arguments) {
  std::array<char, 256> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  auto& problem = static_cast<TiffBytes*>(data)->problem;
  problem = problem.empty() ? text.data() : problem;
  return 1;
}

/// Without its palette, libtiff takes an image for a gray one.
int on_warning(TIFF*, void* data, const char*, const char* format, std::va_list arguments) {
  std::array<char, 256> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  if (std::strstr(text.data(), "\"ColorMap\"") != nullptr) {
    static_cast<TiffBytes*>(data)->lost_palette = true;
  }
  return 1;
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};

class TiffSource final : public WholeSource {
 public:
  TiffSource(std::span<const uint8_t> encoded, const DecodeOptions& options)
      : bytes_{encoded, 0, ""}, clips_gray16_(options.clips_gray16) {
    const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> open(
        TIFFOpenOptionsAlloc(), &TIFFOpenOptionsFree);
    TIFFOpenOptionsSetMaxSingleMemAlloc(open.get(), kMostMemory);
    TIFFOpenOptionsSetErrorHandlerExtR(open.get(), on_error, &bytes_);
    TIFFOpenOptionsSetWarningHandlerExtR(open.get(), on_warning, &bytes_);
    // m: without mapping
    tiff_.reset(TIFFClientOpenExt("", "rm", &bytes_, read_bytes, write_nothing, seek, close_nothing,
                                  size_of, nullptr, nullptr, open.get()));
    check(tiff_ != nullptr && !bytes_.lost_palette);
    const auto wide = static_cast<int64_t>(field(TIFFTAG_IMAGEWIDTH));
    set_size(wide, static_cast<int64_t>(field(TIFFTAG_IMAGELENGTH)), options.max_pixels);
    bits_ = word(TIFFTAG_BITSPERSAMPLE);
    samples_ = word(TIFFTAG_SAMPLESPERPIXEL);
    is_planar_ = word(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE;
    compression_ = word(TIFFTAG_COMPRESSION);
    if (TIFFGetField(tiff_.get(), TIFFTAG_PHOTOMETRIC, &photometric_) == 0) {
      photometric_ = compression_ == COMPRESSION_OJPEG ? PHOTOMETRIC_YCBCR : PHOTOMETRIC_MINISWHITE;
    }
    if (photometric_ == PHOTOMETRIC_YCBCR && compression_ == COMPRESSION_JPEG && !is_planar_) {
      TIFFSetField(tiff_.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
      photometric_ = PHOTOMETRIC_RGB;
    }
    require_kind();
  }

  [[nodiscard]] int orientation() const {
    const int stored = word(TIFFTAG_ORIENTATION);
    return stored >= 1 && stored <= 8 ? stored : 1;
  }

 private:
  /// Returns a field of 16 bits or its default.
  [[nodiscard]] uint16_t word(uint32_t tag) const {
    uint16_t value = 0;
    TIFFGetFieldDefaulted(tiff_.get(), tag, &value);
    return value;
  }

  [[nodiscard]] uint32_t field(uint32_t tag) const {
    uint32_t value = 0;
    TIFFGetField(tiff_.get(), tag, &value);
    return value;
  }

  void require_kind() {
    const bool is_gray =
        photometric_ == PHOTOMETRIC_MINISWHITE || photometric_ == PHOTOMETRIC_MINISBLACK;
    const bool has_palette = photometric_ == PHOTOMETRIC_PALETTE;
    const std::size_t colors = is_gray || has_palette                  ? 1
                               : photometric_ == PHOTOMETRIC_RGB       ? 3
                               : photometric_ == PHOTOMETRIC_SEPARATED ? 4
                                                                       : 0;
    const uint16_t format = word(TIFFTAG_SAMPLEFORMAT);
    const bool is_byte = bits_ == 8 && (format == SAMPLEFORMAT_UINT || is_gray);
    const bool is_word = bits_ == 16 && format == SAMPLEFORMAT_UINT && !has_palette;
    const bool is_small = (bits_ == 1 || bits_ == 2 || bits_ == 4) && samples_ == 1 && colors == 1;
    uses_rgba_ = photometric_ == PHOTOMETRIC_YCBCR && bits_ == 8;
    if (!uses_rgba_ && (colors == 0 || samples_ < colors || !(is_byte || is_word || is_small))) {
      throw_unsupported(
          "a TIFF must be gray, palette, RGB, CMYK or YCbCr with unsigned samples of 1, 2, 4, 8 or"
          " 16 bits, got photometric interpretation " +
          std::to_string(photometric_) + " with " + std::to_string(samples_) + " samples of " +
          std::to_string(bits_) + " bits in format " + std::to_string(format));
    }
    if (has_palette) {
      check(TIFFGetField(tiff_.get(), TIFFTAG_COLORMAP, &palette_[0], &palette_[1], &palette_[2]) !=
            0);
    }
    uint16_t extras = 0;
    uint16_t* kinds = nullptr;
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_EXTRASAMPLES, &extras, &kinds);
    is_premultiplied_ = photometric_ == PHOTOMETRIC_RGB && samples_ > 3 && extras > 0 &&
                        kinds[0] == EXTRASAMPLE_ASSOCALPHA;
  }

  void decode(uint8_t* rgb) override {
    if (uses_rgba_) {
      decode_rgba(rgb);
      return;
    }
    const auto across = static_cast<std::size_t>(width());
    const std::size_t stride = (across * bits_ * (is_planar_ ? 1 : samples_) + 7) / 8;
    const std::size_t plane = stride * static_cast<std::size_t>(height());
    std::vector<uint8_t> stored(plane * (is_planar_ ? samples_ : 1));
    for (uint16_t sample = 0; sample < (is_planar_ ? samples_ : 1); ++sample) {
      uint8_t* const target = stored.data() + plane * sample;
      TIFFIsTiled(tiff_.get()) != 0 ? read_tiles(target, stride, sample)
                                    : read_strips(target, plane, stride, sample);
    }
    for (std::size_t y = 0; y < static_cast<std::size_t>(height()); ++y) {
      for (std::size_t x = 0; x < across; ++x, rgb += kChannels) {
        put(stored.data() + y * stride, plane, x, rgb);
      }
    }
  }

  void read_strips(uint8_t* target, std::size_t plane, std::size_t stride, uint16_t sample) {
    uint32_t rows = 0;
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_ROWSPERSTRIP, &rows);
    check(rows > 0 && static_cast<std::size_t>(TIFFScanlineSize(tiff_.get())) == stride);
    for (uint32_t y = 0; y < height(); y += std::min<uint32_t>(rows, UINT32_MAX - y)) {
      const std::size_t at = stride * y;
      const std::size_t wanted = std::min(plane - at, stride * rows);
      const auto got = TIFFReadEncodedStrip(tiff_.get(), TIFFComputeStrip(tiff_.get(), y, sample),
                                            target + at, static_cast<tmsize_t>(wanted));
      check(got >= 0 && static_cast<std::size_t>(got) == wanted);
    }
  }

  void read_tiles(uint8_t* target, std::size_t stride, uint16_t sample) {
    const uint32_t wide = field(TIFFTAG_TILEWIDTH);
    const uint32_t high = field(TIFFTAG_TILELENGTH);
    const auto row_bytes = static_cast<std::size_t>(TIFFTileRowSize(tiff_.get()));
    const tmsize_t bytes = TIFFTileSize(tiff_.get());
    check(wide > 0 && high > 0 && bytes > 0 && bytes <= kMostMemory &&
          row_bytes * high <= static_cast<std::size_t>(bytes));
    std::vector<uint8_t> tile(static_cast<std::size_t>(bytes));
    for (uint32_t y = 0; y < height(); y += high) {
      for (uint32_t x = 0; x < width(); x += wide) {
        check(TIFFReadTile(tiff_.get(), tile.data(), x, y, 0, sample) == bytes);
        const std::size_t left = row_bytes * (x / wide);
        check(left < stride);
        const auto rows = std::min<std::size_t>(high, static_cast<std::size_t>(height()) - y);
        for (std::size_t row = 0; row < rows; ++row) {
          std::memcpy(target + (y + row) * stride + left, tile.data() + row * row_bytes,
                      std::min(row_bytes, stride - left));
        }
      }
    }
  }

  /// Returns the byte of a sample, or the value of a gray one with 16 bits.
  [[nodiscard]] unsigned sample(const uint8_t* row, std::size_t plane, std::size_t x,
                                std::size_t number) const {
    const uint8_t* const samples = row + (is_planar_ ? plane * number : 0);
    const std::size_t at = is_planar_ ? x : x * samples_ + number;
    if (bits_ == 16) {
      uint16_t value = 0;
      std::memcpy(&value, samples + 2 * at, sizeof value);
      return value;
    }
    if (bits_ == 8) {
      return samples[at];
    }
    return static_cast<unsigned>(samples[x * bits_ / 8] >> (8 - bits_ - x * bits_ % 8)) &
           ((1U << bits_) - 1);
  }

  void put(const uint8_t* row, std::size_t plane, std::size_t x, uint8_t* rgb) const {
    const unsigned first = sample(row, plane, x, 0);
    if (photometric_ == PHOTOMETRIC_PALETTE) {
      for (std::size_t c = 0; c < palette_.size(); ++c) {
        rgb[c] = static_cast<uint8_t>(palette_[c][first] >> 8);
      }
    } else if (photometric_ == PHOTOMETRIC_SEPARATED) {
      const auto white = static_cast<uint8_t>(255 - byte_of(sample(row, plane, x, 3)));
      for (std::size_t c = 0; c < 3; ++c) {
        const uint8_t ink = product(byte_of(sample(row, plane, x, c)), white);
        rgb[c] = static_cast<uint8_t>(white - std::min(white, ink));
      }
    } else if (photometric_ == PHOTOMETRIC_RGB) {
      for (std::size_t c = 0; c < 3; ++c) {
        rgb[c] = byte_of(sample(row, plane, x, c));
      }
      if (is_premultiplied_) {
        divide_by_alpha(byte_of(sample(row, plane, x, 3)), rgb);
      }
    } else if (bits_ == 16) {
      put_gray(rgb, narrowed(first, clips_gray16_));
    } else {
      const auto gray = static_cast<uint8_t>(first * 255 / ((1U << bits_) - 1));
      put_gray(rgb, photometric_ == PHOTOMETRIC_MINISWHITE ? static_cast<uint8_t>(~gray) : gray);
    }
  }

  [[nodiscard]] uint8_t byte_of(unsigned value) const {
    return static_cast<uint8_t>(bits_ == 16 ? value >> 8 : value);
  }

  static void divide_by_alpha(unsigned alpha, uint8_t* rgb) {
    for (std::size_t c = 0; c < 3; ++c) {
      rgb[c] = static_cast<uint8_t>(alpha == 0 ? 0 : std::min(255U, rgb[c] * 255 / alpha));
    }
  }

  void decode_rgba(uint8_t* rgb) {
    std::array<char, 1024> problem{};
    std::vector<uint32_t> pixels(static_cast<std::size_t>(width() * height()));
    TIFFRGBAImage image{};
    if (TIFFRGBAImageOK(tiff_.get(), problem.data()) == 0 ||
        TIFFRGBAImageBegin(&image, tiff_.get(), /*stop=*/1, problem.data()) == 0) {
      throw_unsupported(problem.data());
    }
    image.req_orientation = image.orientation;  // it is turned later, as all others
    const int done = TIFFRGBAImageGet(&image, pixels.data(), static_cast<uint32_t>(width()),
                                      static_cast<uint32_t>(height()));
    TIFFRGBAImageEnd(&image);
    check(done != 0);
    for (const uint32_t pixel : pixels) {
      *rgb++ = static_cast<uint8_t>(TIFFGetR(pixel));
      *rgb++ = static_cast<uint8_t>(TIFFGetG(pixel));
      *rgb++ = static_cast<uint8_t>(TIFFGetB(pixel));
    }
  }

  void check(bool succeeded) const {
    if (!succeeded) {
      const std::string reason =
          bytes_.problem.empty() ? "the TIFF is damaged or cut off" : bytes_.problem;
      const bool is_unpacked = compression_ == 0 || TIFFIsCODECConfigured(compression_) != 0;
      is_unpacked ? throw_damaged(reason) : throw_unsupported(reason);
    }
  }

  TiffBytes bytes_;
  const bool clips_gray16_;
  std::unique_ptr<TIFF, CloseTiff> tiff_;
  std::size_t bits_ = 0;
  std::size_t samples_ = 0;
  bool is_planar_ = false;
  uint16_t compression_ = 0;
  uint16_t photometric_ = 0;
  bool uses_rgba_ = false;
  bool is_premultiplied_ = false;
  std::array<uint16_t*, 3> palette_{};
};

}  // namespace

bool is_tiff(std::span<const uint8_t> encoded) {
  return encoded.size() >= 4 && ((encoded[0] == 'I' && encoded[1] == 'I' &&
                                  (encoded[2] == 42 || encoded[2] == 43) && encoded[3] == 0) ||
                                 (encoded[0] == 'M' && encoded[1] == 'M' && encoded[2] == 0 &&
                                  (encoded[3] == 42 || encoded[3] == 43)));
}

std::unique_ptr<ImageSource> open_tiff(std::span<const uint8_t> encoded,
                                       const DecodeOptions& options) {
  auto image = std::make_unique<TiffSource>(encoded, options);
  const int orientation = image->orientation();
  return oriented(std::move(image), orientation);
}

}  // namespace torchfeed
