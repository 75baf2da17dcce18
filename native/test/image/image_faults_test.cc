// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/image/decode/exif_orientation.h"
#include "core/image/decode/jpeg_source.h"
#include "core/image/recipe/image_plan_reader.h"
#include "core/image/recipe/image_recipe.h"
#include "image/golden_lines.h"
#include "image/image_files.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using testing::decoded;
using testing::golden_image;
using testing::kGetAgain;
using testing::problem;

constexpr std::size_t kPngHeader = 8;

std::string problem_of(const Bytes& encoded) {
  return problem([&] { decoded(encoded); });
}

Bytes text(std::string_view content) { return {content.begin(), content.end()}; }

void put_big_endian(Bytes& bytes, std::size_t at, uint32_t number) {
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[at + i] = static_cast<uint8_t>(number >> (24 - 8 * i));
  }
}

uint32_t big_endian(const Bytes& bytes, std::size_t at) {
  uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    number = number << 8 | bytes[at + i];
  }
  return number;
}

/// Corrects the checksums of a PNG, as far as its chunks are whole.
void correct_checksums(Bytes& png) {
  for (std::size_t at = kPngHeader; at + 12 <= png.size();) {
    const std::size_t length = big_endian(png, at);
    if (length > png.size() - at - 12) {
      return;
    }
    put_big_endian(png, at + 8 + length, testing::crc32(png.data() + at + 4, length + 4));
    at += length + 12;
  }
}

TEST(ImageFaults, NoPrefixOfAJpegIsDecoded) {
  for (const char* name :
       {"444_odd.jpg", "420_progressive.jpg", "restart_blocks.jpg", "ycck.jpg"}) {
    const Bytes whole = golden_image(name);
    ASSERT_EQ("", problem_of(whole));
    for (std::size_t length = 0; length < whole.size(); length += 1 + length / 50) {
      EXPECT_NE("", problem_of({whole.begin(), whole.begin() + static_cast<long>(length)}))
          << name << ' ' << length;
    }
    EXPECT_EQ("Premature end of JPEG file" + kGetAgain,
              problem_of({whole.begin(), whole.end() - 2}));
  }
}

TEST(ImageFaults, APrefixOfAnotherImageFailsOrIsWhole) {
  for (const char* name : {"rgb.png", "interlaced.png", "lossy.webp", "lossless.webp"}) {
    const Bytes whole = golden_image(name);
    const Bytes pixels = decoded(whole);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const Bytes prefix{whole.begin(), whole.begin() + static_cast<long>(length)};
      Bytes found;
      const bool failed = !problem([&] { found = decoded(prefix); }).empty();
      EXPECT_TRUE(failed || found == pixels) << name << ' ' << length;
      EXPECT_TRUE(failed || length > whole.size() / 2) << name << ' ' << length;
    }
  }
}

TEST(ImageFaults, DamageBelowARegionIsNotLookedAt) {
  const Bytes whole = golden_image("444.jpg");
  const Bytes half{whole.begin(), whole.end() - static_cast<long>(whole.size() / 3)};
  const Placement top = testing::unscaled({10, 0, 30, 20});
  EXPECT_EQ(testing::passed(whole, top), testing::passed(half, top));
  EXPECT_NE("", problem([&] { testing::passed(half, testing::unscaled({10, 90, 30, 20})); }));
}

std::string too_large(int64_t most, const std::string& size) {
  return "an image must have at most " + std::to_string(most) + " pixels, got " + size +
         "; maxPixels of the plan changes this limit";
}

TEST(ImageFaults, APlanCanLowerAndRaiseTheLimitOfPixels) {
  const auto with_limit = [](double most, const char* name) {
    const ImageRecipe recipe = read_plan(std::vector<double>{0, 0, 1, 15, most, 2, 4, 4});
    return problem([&] {
      SampleWords words(0, 0, 0);
      std::array<std::byte, 48> row{};
      make_row(recipe, golden_image(name), words, row.data());
    });
  };
  for (const char* name : {"444.jpg", "420_progressive.jpg"}) {
    EXPECT_EQ("", with_limit(150 * 118, name));
    EXPECT_EQ(too_large(150 * 118 - 1, "150x118"), with_limit(150 * 118 - 1, name));
  }
  for (const char* name : {"rgb.png", "lossy.webp"}) {
    EXPECT_EQ("", with_limit(37 * 29, name));
    EXPECT_EQ(too_large(37 * 29 - 1, "37x29"), with_limit(37 * 29 - 1, name));
  }
  const auto scaled_to = [](std::vector<double> steps) {
    steps.insert(steps.begin(), {0, 0, 1, 1, 20000, 3, 10, 10});
    return problem([&] {
      SampleWords words(0, 0, 0);
      std::ignore = place(read_plan(steps), words, 5, 5);
    });
  };
  EXPECT_EQ(too_large(178956970, "20000x20000"), scaled_to({}));
  EXPECT_EQ("", scaled_to({15, 400'000'000}));
}

TEST(ImageFaults, BombsAreRefused) {
  Bytes jpeg = golden_image("444.jpg");
  const Bytes marker = text("\xff\xc0");
  const auto frame = std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end());
  ASSERT_NE(jpeg.end(), frame);
  std::fill(frame + 5, frame + 9, uint8_t{0xf0});
  EXPECT_EQ(too_large(178956970, "61680x61680"), problem_of(jpeg));

  Bytes png = golden_image("rgb.png");
  put_big_endian(png, kPngHeader + 8, 900000);
  put_big_endian(png, kPngHeader + 12, 200);
  correct_checksums(png);
  EXPECT_EQ(too_large(178956970, "900000x200"), problem_of(png));

  const ImageRecipe recipe = read_plan(std::vector<double>{0, 0, 1, 1, 60000, 3, 10, 10});
  EXPECT_EQ(too_large(178956970, "60000x60000"), problem([&] {
              SampleWords words(0, 0, 0);
              std::ignore = place(recipe, words, 5, 5);
            }));
}

void append(Bytes& bytes, std::initializer_list<int> more) {
  for (const int byte : more) {
    bytes.push_back(static_cast<uint8_t>(byte));
  }
}

/// A gray progressive JPEG of 8x8 pixels: a scan for the mean, and then one for each bit of each
/// frequency, all 0.
Bytes progressive_jpeg(int scans) {
  Bytes jpeg;
  append(jpeg, {0xff, 0xd8, 0xff, 0xdb, 0, 67, 0});
  jpeg.insert(jpeg.end(), 64, 1);
  append(jpeg, {0xff, 0xc2, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0});
  for (const int table : {0, 0x10}) {
    append(jpeg, {0xff, 0xc4, 0, 20, table, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  }
  for (int scan = 0; scan < scans; ++scan) {
    const int frequency = scan == 0 ? 0 : 1 + (scan - 1) % 63;
    const int bit = scan == 0 ? 0 : scan < 64 ? 1 : 0x10;
    append(jpeg, {0xff, 0xda, 0, 8, 1, 1, 0, frequency, frequency, bit, 0x7f});
  }
  append(jpeg, {0xff, 0xd9});
  return jpeg;
}

TEST(ImageFaults, AJpegHasAtMost100Scans) {
  EXPECT_EQ(Bytes(192, 128), decoded(progressive_jpeg(100)));
  EXPECT_EQ("a JPEG must have at most 100 scans; convert it to PNG, or leave it out",
            problem_of(progressive_jpeg(101)));
}

TEST(ImageFaults, StepsThatAreNoPlanAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<double>> wrong = {{},
                                                  {0, 0, 1},
                                                  {2, 10},
                                                  {2, 0, 10},
                                                  {2, 10, 65536},
                                                  {2, 1.5, 10},
                                                  {2, nan, 10},
                                                  {14, 10},
                                                  {-1, 10},
                                                  {0, 4, 1, 2, 5, 5},
                                                  {0, 3, 2, 2, 5, 5},
                                                  {0, 0, 4, 2, 5, 5},
                                                  {0, 1, 3, 2, 5, 5},
                                                  {0, 1, 0, 2, 5, 5},
                                                  {2, 5, 5, 4, 1, 1, 1, 1, 1},
                                                  {2, 5, 5, 6, 1.5},
                                                  {2, 5, 5, 9, 2, 31, 31},
                                                  {2, 5, 5, 10, 1},
                                                  {2, 5, 5, 11, 1, 0, 1, 1, 1, 0, 0},
                                                  {2, 5, 5, 11, 1, 0, 1, 1, 1, 0, 0, 256},
                                                  {2, 5, 5, 12, 1.5, 0, 1, 1, 1},
                                                  {2, 5, 5, 12, 1, 0, 1, 0, 1},
                                                  {5, 5, 5, 0.5, 0.1, 1, 1}};
  for (const auto& steps : wrong) {
    try {
      read_plan(steps);
      ADD_FAILURE() << "read " << steps.size() << " numbers";
    } catch (const Error& error) {
      EXPECT_EQ(ErrorCode::kInvalidArgument, error.code());
    }
  }
}

TEST(ImageFaults, NoPrefixOfAnImageHasAnotherOrientation) {
  for (const auto& [name, expected] :
       {std::pair("exif_7.jpg", 7), std::pair("exif_8.jpg", 8), std::pair("exif_6.png", 6),
        std::pair("exif_5.webp", 5), std::pair("444.jpg", 1)}) {
    const Bytes whole = golden_image(name);
    EXPECT_EQ(expected, exif_orientation(whole)) << name;
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const Bytes prefix{whole.begin(), whole.begin() + static_cast<long>(length)};
      const int orientation = exif_orientation(prefix);
      EXPECT_TRUE(orientation == 1 || orientation == expected) << name << ' ' << length;
    }
  }
}

/// Changes some bytes, or cuts or repeats a part.
Bytes mutated(const Bytes& original, std::mt19937& random) {
  Bytes bytes = original;
  const auto place = [&] { return static_cast<std::ptrdiff_t>(random() % bytes.size()); };
  const std::size_t changes = 1 + random() % 4;
  for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) {
    const auto from = place();
    const auto to = std::max<std::ptrdiff_t>(from, place());
    switch (random() % 8) {
      case 0:
        bytes.erase(bytes.begin() + from, bytes.begin() + to);
        break;
      case 1: {
        const Bytes part(bytes.begin() + from, bytes.begin() + to);
        bytes.insert(bytes.begin() + place(), part.begin(), part.end());
        break;
      }
      case 2:
        bytes[static_cast<std::size_t>(from)] = 0xff;
        break;
      default:
        bytes[static_cast<std::size_t>(from)] = static_cast<uint8_t>(random());
    }
  }
  return bytes;
}

/// Decodes a part of an image to a small size; returns the pixels, or the message of the typed
/// error.
std::pair<Bytes, std::string> decode_part(const Bytes& encoded, std::mt19937& random) {
  Bytes pixels;
  const std::string message = problem([&] {
    const auto source = open_image(encoded);
    const auto side = [&](int64_t length) {
      const int64_t from = static_cast<int64_t>(random()) % length;
      return std::pair(from, 1 + static_cast<int64_t>(random()) % (length - from));
    };
    const auto [left, width] = side(source->width());
    const auto [top, height] = side(source->height());
    const bool is_whole = random() % 2 == 0;
    const Region crop = is_whole ? Region{0, 0, source->width(), source->height()}
                                 : Region{left, top, width, height};
    pixels = testing::passed(encoded, {crop, 21, 17, {0, 0, 21, 17}});
  });
  return {pixels, message};
}

/// Expects libjpeg's result for a part of a JPEG. It loads up to 8 bytes ahead, and fails if they
/// are missing, although the part may not need them.
void expect_equal_to_libjpeg(const std::pair<Bytes, std::string>& part, Bytes jpeg,
                             std::mt19937 random) {
  std::mt19937 same = random;
  auto expected = decode_part(jpeg, random);
  if (expected.second == "Premature end of JPEG file" + kGetAgain && part.second.empty()) {
    jpeg.insert(jpeg.end(), 16, 0);
    append(jpeg, {0xff, 0xd9});
    expected = decode_part(jpeg, same);
  }
  EXPECT_EQ(expected, part);
}

/// A longer run: the number of mutations of each file in `TORCHFEED_IMAGE_MUTATIONS`.
TEST(ImageFaults, MutatedFilesFailWithATypedErrorOrGivePixels) {
  const char* const chosen = std::getenv("TORCHFEED_IMAGE_MUTATIONS");
  const int mutations = chosen == nullptr ? 150 : std::atoi(chosen);
  for (const char* file : {"420.jpg",
                           "422_progressive.jpg",
                           "restart_rows.jpg",
                           "440_odd.jpg",
                           "grey.jpg",
                           "ycck_420.jpg",
                           "optimized.jpg",
                           "restart_blocks.jpg",
                           "rgb.png",
                           "interlaced.png",
                           "palette_4bit.png",
                           "rgba_16bit_interlaced.png",
                           "lossy.webp",
                           "alpha.webp",
                           "exif_5.jpg",
                           "exif_6.png",
                           "exif_5.webp",
                           "kinds/animated.webp",
                           "kinds/part.webp",
                           "kinds/interlaced.gif",
                           "kinds/part_transparent.gif",
                           "kinds/palette.bmp",
                           "kinds/runs_8.bmp",
                           "kinds/runs_4.bmp",
                           "kinds/565.bmp",
                           "kinds/bgra_v4.bmp",
                           "kinds/text.pgm",
                           "kinds/bits.pbm",
                           "kinds/wide.ppm",
                           "kinds/jpeg.tif",
                           "kinds/ycbcr.tif",
                           "kinds/group4.tif",
                           "kinds/tiles_deflate.tif",
                           "kinds/planes.tif",
                           "kinds/palette.tif",
                           "kinds/lossless.jpg",
                           "kinds/profile_packed.png"}) {
    const std::string name = file;
    const Bytes original = golden_image(name);
    std::mt19937 random(7);
    for (int i = 0; i < mutations; ++i) {
      SCOPED_TRACE(name + ' ' + std::to_string(i));
      Bytes bytes = mutated(original, random);
      if (i % 2 == 0 && name.ends_with(".png")) {
        correct_checksums(bytes);
      }
      std::mt19937 same = random;
      const auto part = decode_part(bytes, random);
      if (name.ends_with(".jpg")) {
        allow_fast_huffman(false);
        expect_equal_to_libjpeg(part, bytes, same);
        allow_fast_huffman(true);
      }
      const int orientation = exif_orientation(bytes);
      EXPECT_TRUE(orientation >= 1 && orientation <= 8) << orientation;
    }
  }
}

}  // namespace
}  // namespace torchfeed
