// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace torchfeed {

/// A rectangle of an image, in pixels.
struct Region {
  int64_t left;
  int64_t top;
  int64_t width;
  int64_t height;
};

/// Readable bytes behind each row of pixels, so that vector code may load more than the row has.
constexpr std::size_t kRowSlack = 64;

/// Pixels of the largest image that is decoded unless a plan has another limit: where Pillow
/// refuses one as a decompression bomb.
constexpr int64_t kMaxPixels = 178956970;

/// Choices between ways to decode an image.
struct DecodeOptions {
  /// Larger images are refused.
  int64_t max_pixels = kMaxPixels;
  /// Gray pixels of 16 bits above 255 become 255, as in Pillow; otherwise their high byte counts.
  bool clips_gray16 = false;
};

/// An encoded image; decodes one region row by row. The encoded bytes are borrowed. One thread at
/// a time.
///
/// Every function throws an `Error` of the code `kUnreadable` if the bytes are not a whole image
/// of a supported kind. Bytes that the region does not need are not looked at.
class ImageSource {
 public:
  ImageSource() = default;
  ImageSource(const ImageSource&) = delete;
  ImageSource& operator=(const ImageSource&) = delete;
  virtual ~ImageSource() = default;

  [[nodiscard]] virtual int64_t width() const = 0;
  [[nodiscard]] virtual int64_t height() const = 0;
  /// Chooses the region, which is not empty and lies inside the image. Called once.
  virtual void begin(const Region& region) = 0;
  /// Decodes the next row of the region: interleaved red, green and blue, valid until the next
  /// call, with `kRowSlack` readable bytes behind it. Called at most once for each row.
  virtual const uint8_t* next_row() = 0;
};

/// Opens an image of the kind that its first bytes name: JPEG, PNG, WebP, BMP, GIF, PNM or TIFF.
///
/// @param encoded  the content of the file, which must outlive the source
std::unique_ptr<ImageSource> open_image(std::span<const uint8_t> encoded,
                                        const DecodeOptions& options = {});

/// Throws the error of an unreadable image.
[[noreturn]] void throw_unreadable(const std::string& reason);

/// Throws the error of an image whose bytes are not those that were written, with the remedy.
[[noreturn]] void throw_damaged(const std::string& reason);

/// Throws the error of an image of a kind that is not decoded, with the remedy.
[[noreturn]] void throw_unsupported(const std::string& reason);

/// Throws the error of a file that was never downloaded, if the first bytes are those of a pointer
/// of Git LFS or of a web page in its place.
void refuse_placeholder(std::span<const uint8_t> first_bytes);

/// Throws the error of a decompression bomb if an image has too many pixels.
void require_pixels(int64_t width, int64_t height, int64_t max_pixels);

}  // namespace torchfeed
