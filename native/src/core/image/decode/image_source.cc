// SPDX-License-Identifier: Apache-2.0
#include "core/image/decode/image_source.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/image/decode/jpeg_source.h"
#include "core/image/decode/other_sources.h"
#include "core/image/decode/png_source.h"
#include "core/image/decode/webp_source.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr std::size_t kNamedBytes = 8;

bool begins_with(std::span<const uint8_t> encoded, std::size_t at, std::string_view magic) {
  return encoded.size() >= at + magic.size() &&
         std::equal(magic.begin(), magic.end(), encoded.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

std::string hexadecimal(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += text.empty() ? "" : " ";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

void throw_unreadable(const std::string& reason) { throw Error(ErrorCode::kUnreadable, reason); }

void throw_damaged(const std::string& reason) {
  throw_unreadable(reason + "; get the file again, or leave it out");
}

void throw_unsupported(const std::string& reason) {
  throw_unreadable(reason + "; convert it to PNG, or leave it out");
}

void refuse_placeholder(std::span<const uint8_t> first_bytes) {
  if (begins_with(first_bytes, 0, "version https://git-lfs.github.com/spec/")) {
    throw_unreadable(
        "it is a Git LFS pointer in the place of the file; get the file by git lfs pull");
  }
  if (begins_with(first_bytes, 0, "# xet version")) {
    throw_unreadable(
        "it is a Git-Xet pointer in the place of the file; get the file by git xet checkout, or "
        "download it");
  }
  std::string start(first_bytes.begin(),
                    first_bytes.begin() +
                        static_cast<std::ptrdiff_t>(std::min<std::size_t>(first_bytes.size(), 9)));
  std::transform(start.begin(), start.end(), start.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  if (start.starts_with("<!doctype") || start.starts_with("<html")) {
    throw_unreadable(
        "it is a web page in the place of the file, for example of a login or an error; download "
        "the file itself");
  }
}

void require_pixels(int64_t width, int64_t height, int64_t max_pixels) {
  if (width < 1 || height < 1) {
    throw_unreadable("the image has no pixels");
  }
  if (height > max_pixels / width) {
    throw_unreadable("an image must have at most " + std::to_string(max_pixels) + " pixels, got " +
                     std::to_string(width) + "x" + std::to_string(height) +
                     "; maxPixels of the plan changes this limit");
  }
}

std::unique_ptr<ImageSource> open_image(std::span<const uint8_t> encoded,
                                        const DecodeOptions& options) {
  if (begins_with(encoded, 0, "\xff\xd8\xff")) {
    return open_jpeg(encoded, options.max_pixels);
  }
  if (begins_with(encoded, 0, "\x89PNG\r\n\x1a\n")) {
    return open_png(encoded, options);
  }
  if (begins_with(encoded, 0, "RIFF") && begins_with(encoded, 8, "WEBP")) {
    return open_webp(encoded, options.max_pixels);
  }
  if (begins_with(encoded, 0, "BM")) {
    return open_bmp(encoded, options.max_pixels);
  }
  if (begins_with(encoded, 0, "GIF87a") || begins_with(encoded, 0, "GIF89a")) {
    return open_gif(encoded, options.max_pixels);
  }
  if (is_pnm(encoded)) {
    return open_pnm(encoded, options);
  }
  if (is_tiff(encoded)) {
    return open_tiff(encoded, options);
  }
  if (encoded.empty()) {
    throw_damaged("the image is empty");
  }
  refuse_placeholder(encoded);
  throw_unsupported(
      "an image must be a JPEG, PNG, WebP, BMP, GIF, PNM or TIFF, but its first bytes are " +
      hexadecimal(encoded.first(std::min(encoded.size(), kNamedBytes))));
}

}  // namespace torchfeed
