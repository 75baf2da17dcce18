// SPDX-License-Identifier: Apache-2.0
#include "core/image/decode/exif_orientation.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace torchfeed {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr int kUpright = 1;
constexpr std::string_view kExif("Exif\0\0", 6);

bool begins_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

/// Returns the bytes from number `at` on, none if there are fewer.
Bytes from(Bytes bytes, std::size_t at) { return bytes.subspan(std::min(at, bytes.size())); }

/// Returns a number of the first `length` bytes, which are there.
std::size_t number(Bytes bytes, std::size_t length, bool is_little) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < length; ++i) {
    value = value << 8 | bytes[is_little ? length - 1 - i : i];
  }
  return value;
}

/// Returns the orientation in data that has the form of a TIFF file.
int orientation_of(Bytes tiff) {
  while (begins_with(tiff, kExif)) {
    tiff = from(tiff, kExif.size());
  }
  constexpr std::size_t kHeader = 8;
  constexpr std::size_t kEntry = 12;
  constexpr std::size_t kTag = 0x0112;
  constexpr std::size_t kShort = 3;
  constexpr std::size_t kLong = 4;
  const bool is_little = begins_with(tiff, "II");
  if (tiff.size() < kHeader || !(is_little || begins_with(tiff, "MM")) ||
      number(tiff.subspan(2), 2, is_little) != 42) {
    return kUpright;
  }
  Bytes directory = from(tiff, number(tiff.subspan(4), 4, is_little));
  if (directory.size() < 2) {
    return kUpright;
  }
  std::size_t orientation = kUpright;
  std::size_t entries = number(directory, 2, is_little);
  for (directory = directory.subspan(2); entries > 0 && directory.size() >= kEntry; --entries) {
    const std::size_t type = number(directory.subspan(2), 2, is_little);
    const std::size_t count = number(directory.subspan(4), 4, is_little);
    if (number(directory, 2, is_little) == kTag && (type == kShort || type == kLong)) {
      orientation =
          count == 1 ? number(directory.subspan(8), type == kShort ? 2 : 4, is_little) : kUpright;
    }
    directory = directory.subspan(kEntry);
  }
  return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : kUpright;
}

/// Returns the EXIF data of all segments before the first scan, one after another.
std::vector<uint8_t> exif_of_jpeg(Bytes rest) {
  constexpr uint8_t kApp1 = 0xe1;
  constexpr uint8_t kScan = 0xda;
  std::vector<uint8_t> exif;
  rest = from(rest, 2);
  for (;;) {
    while (rest.size() >= 2 && !(rest[0] == 0xff && rest[1] != 0xff && rest[1] != 0)) {
      rest = rest.subspan(1);  // as libjpeg, which skips all other bytes
    }
    if (rest.size() < 4 || rest[1] == kScan) {
      return exif;
    }
    const std::size_t length = number(rest.subspan(2), 2, false);
    const Bytes segment = rest.subspan(4, std::min(length < 2 ? 0 : length - 2, rest.size() - 4));
    if (rest[1] == kApp1 && begins_with(segment, kExif)) {
      const Bytes data = from(segment, kExif.size());
      exif.insert(exif.end(), data.begin(), data.end());
    }
    rest = from(rest, 4 + segment.size());
  }
}

/// Returns the content of the first chunk of a name, in a file of chunks.
///
/// @param rest    from the first chunk on
/// @param is_png  whether the length stands before the name, and a checksum after the content;
///                otherwise the length stands behind the name, and the content is even
/// @param start   of the content; chunks with another one are passed over
Bytes chunk_of(Bytes rest, std::string_view name, bool is_png, std::string_view start = {}) {
  constexpr std::size_t kHead = 8;
  while (rest.size() >= kHead) {
    const std::size_t length = number(rest.subspan(is_png ? 0 : 4), 4, !is_png);
    const Bytes content = rest.subspan(kHead, std::min(length, rest.size() - kHead));
    if (begins_with(rest.subspan(is_png ? 4 : 0), name) && begins_with(content, start)) {
      return content;
    }
    rest = from(rest, kHead + length + (is_png ? 4 : length % 2));
  }
  return {};
}

/// Returns the bytes that a stream of zlib holds, at most as many as EXIF data may have.
std::vector<uint8_t> inflated(Bytes packed) {
  constexpr std::size_t kMost = std::size_t{1} << 18;  // in hexadecimal digits
  std::vector<uint8_t> text(kMost);
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) {
    return {};
  }
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(std::min(packed.size(), kMost));
  stream.next_out = text.data();
  stream.avail_out = static_cast<uInt>(text.size());
  inflate(&stream, Z_FINISH);
  text.erase(text.end() - stream.avail_out, text.end());
  inflateEnd(&stream);
  return text;
}

/// Returns EXIF data of ImageMagick's text: three lines, then lines of hexadecimal digits.
std::vector<uint8_t> exif_of_profile(Bytes text) {
  int lines = 0;
  int high = -1;
  std::vector<uint8_t> exif;
  for (const uint8_t byte : text) {
    if (byte == '\n') {
      ++lines;
    } else if (lines >= 3) {
      const int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                        : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                        : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                                     : -1;
      if (digit < 0) {
        return {};
      }
      if (high >= 0) {
        exif.push_back(static_cast<uint8_t>(high << 4 | digit));
      }
      high = high >= 0 ? -1 : digit;
    }
  }
  return exif;
}

/// Returns the orientation in a PNG: in its chunk of EXIF data, or in the text that ImageMagick
/// writes in its place.
int orientation_of_png(Bytes chunks) {
  const Bytes exif = chunk_of(chunks, "eXIf", true);
  if (!exif.empty()) {
    return orientation_of(exif);
  }
  constexpr std::string_view kProfile("Raw profile type exif\0", 22);
  constexpr std::size_t kCompression = 1;  // a byte: of the only kind
  const Bytes packed = chunk_of(chunks, "zTXt", true, kProfile);
  if (!packed.empty()) {
    return orientation_of(exif_of_profile(inflated(from(packed, kProfile.size() + kCompression))));
  }
  const Bytes text = chunk_of(chunks, "tEXt", true, kProfile);
  return orientation_of(exif_of_profile(from(text, kProfile.size())));
}

}  // namespace

int exif_orientation(Bytes encoded) {
  if (begins_with(encoded, "\xff\xd8")) {
    return orientation_of(exif_of_jpeg(encoded));
  }
  if (begins_with(encoded, "\x89PNG")) {
    return orientation_of_png(from(encoded, 8));
  }
  return begins_with(encoded, "RIFF") ? orientation_of(chunk_of(from(encoded, 12), "EXIF", false))
                                      : kUpright;
}

}  // namespace torchfeed
