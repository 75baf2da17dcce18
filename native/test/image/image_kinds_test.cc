// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/image/decode/exif_orientation.h"
#include "core/image/decode/image_source.h"
#include "core/image/decode/jpeg_source.h"
#include "core/image/decode/oriented_source.h"
#include "core/image/recipe/image_plan_reader.h"
#include "core/image/recipe/image_recipe.h"
#include "core/image/store/record_image.h"
#include "image/golden_lines.h"
#include "image/image_files.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using testing::golden_image;

/// An image and the pixels that Pillow makes of it.
struct KindCase {
  std::string file;
  int64_t width;
  int64_t height;
  uint32_t checksum;
};

std::vector<KindCase> kind_cases(const std::string& kind) {
  std::vector<KindCase> cases;
  for (auto& line : testing::golden_lines("images/kinds/kinds.txt", kind)) {
    KindCase one;
    one.file = "kinds/" + line.word();
    one.width = line.integer();
    one.height = line.integer();
    one.checksum = static_cast<uint32_t>(std::stoul(line.word(), nullptr, 16));
    cases.push_back(one);
  }
  return cases;
}

uint32_t pixels_checksum(const Bytes& pixels) {
  return testing::crc32(pixels.data(), pixels.size());
}

Bytes part_of(const Bytes& whole, int64_t width, const Region& region) {
  Bytes part;
  for (int64_t y = region.top; y < region.top + region.height; ++y) {
    const auto from = whole.begin() + 3 * (y * width + region.left);
    part.insert(part.end(), from, from + 3 * region.width);
  }
  return part;
}

TEST(ImageKinds, PixelsEqualPillows) {
  const auto cases = kind_cases("whole");
  EXPECT_GE(cases.size(), 65U);
  for (const auto& [file, width, height, checksum] : cases) {
    SCOPED_TRACE(file);
    const Bytes encoded = golden_image(file);
    Bytes whole;
    ASSERT_EQ("", testing::problem([&] { whole = testing::decoded(encoded); }));
    EXPECT_EQ(checksum, pixels_checksum(whole));
    const auto source = open_image(encoded);
    ASSERT_EQ(width, source->width());
    ASSERT_EQ(height, source->height());
    for (const Region& region : {Region{0, 0, 5, 4}, Region{width - 9, height - 3, 9, 3},
                                 Region{4, 7, width - 6, 1}, Region{0, height - 1, width, 1}}) {
      EXPECT_EQ(part_of(whole, width, region), testing::passed(encoded, testing::unscaled(region)));
    }
  }
}

TEST(ImageKinds, GrayOf16BitsIsClippedAsInPillowIfThePlanWantsIt) {
  auto cases = kind_cases("clip");
  EXPECT_EQ(4U, cases.size());
  for (const auto& [file, width, height, checksum] : cases) {
    const Region whole{0, 0, width, height};
    const Bytes encoded = golden_image(file);
    const auto source = open_image(encoded, {.clips_gray16 = true});
    EXPECT_EQ(checksum, pixels_checksum(testing::passed(*source, testing::unscaled(whole))))
        << file;
  }
}

TEST(ImageKinds, APlanClipsGrayPngsOf16Bits) {
  const Bytes png = golden_image("grey_16bit.png");
  const auto row_of = [&](std::vector<double> steps) {
    steps.insert(steps.end(), {0, 0, 1, 3, 29, 37});
    const ImageRecipe recipe = read_plan(steps);
    Bytes row(static_cast<std::size_t>(recipe.row_bytes()));
    SampleWords words(0, 0, 0);
    make_row(recipe, png, words, reinterpret_cast<std::byte*>(row.data()));
    return row;
  };
  // Each value is its high byte times 257, with some bits changed: clipped where that is not 0.
  const Bytes high = row_of({});
  const Bytes clipped = row_of({20});
  ASSERT_EQ(high.size(), clipped.size());
  for (std::size_t i = 0; i < high.size(); ++i) {
    EXPECT_EQ(high[i] == 0 ? 0x5a : 255, clipped[i]) << i;
  }
}

TEST(ImageKinds, OrientationsOfImageMagicksProfilesAreFollowed) {
  const auto cases = kind_cases("turned");
  EXPECT_EQ(2U, cases.size());
  for (const auto& [file, width, height, checksum] : cases) {
    const Bytes encoded = golden_image(file);
    ASSERT_EQ(6, exif_orientation(encoded)) << file;
    const auto source = oriented(open_image(encoded), exif_orientation(encoded));
    const Region whole{0, 0, width, height};
    EXPECT_EQ(checksum, pixels_checksum(testing::passed(*source, testing::unscaled(whole))))
        << file;
  }
}

TEST(ImageKinds, ScansWithOtherRangesAreDecodedFastAndStoredInTiles) {
  for (const auto& [file, width, height, checksum] : kind_cases("whole")) {
    if (file.starts_with("kinds/scan_")) {
      allow_fast_huffman(false);
      EXPECT_EQ(checksum, pixels_checksum(testing::decoded(golden_image(file)))) << file;
      allow_fast_huffman(true);
      EXPECT_GT(record_image(golden_image(file)).tiles.table_bytes, 0) << file;
    }
  }
}

TEST(ImageKinds, APrefixFailsOrIsWhole) {
  for (const auto& [file, width, height, checksum] : kind_cases("whole")) {
    const Bytes encoded = golden_image(file);
    const Bytes whole = testing::decoded(encoded);
    for (std::size_t length = 0; length < encoded.size(); length += 1 + length / 30) {
      const Bytes prefix{encoded.begin(), encoded.begin() + static_cast<long>(length)};
      Bytes found;
      const bool failed = !testing::problem([&] { found = testing::decoded(prefix); }).empty();
      EXPECT_TRUE(failed || found == whole) << file << ' ' << length;
    }
  }
}

/// A GIF of 2 x 2 pixels in black and white, of codes of 3 bits: 4 clears, 5 ends.
Bytes gif_of(std::initializer_list<unsigned> codes) {
  Bytes gif{'G', 'I', 'F', '8', '9', 'a'};
  for (const int byte :
       {2, 0, 2, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255, 0x2c, 0, 0, 0, 0, 2, 0, 2, 0, 0, 2}) {
    gif.push_back(static_cast<uint8_t>(byte));
  }
  uint64_t bits = 0;
  unsigned count = 0;
  for (const unsigned code : codes) {
    bits |= static_cast<uint64_t>(code) << count;
    count += 3;
  }
  gif.push_back(static_cast<uint8_t>((count + 7) / 8));
  for (unsigned at = 0; at < count; at += 8) {
    gif.push_back(static_cast<uint8_t>(bits >> at));
  }
  gif.push_back(0);
  gif.push_back(';');
  return gif;
}

/// Pillow 12 reads the first and the last, and refuses the others as truncated.
TEST(ImageKinds, AGifThatEndsBeforeItsPixelsIsRefused) {
  const auto problem_of = [](std::initializer_list<unsigned> codes) {
    return testing::problem([&] { testing::decoded(gif_of(codes)); });
  };
  EXPECT_EQ("", problem_of({4, 0, 1, 1, 0, 5}));
  const std::string rest = " of 4 pixels" + testing::kGetAgain;
  EXPECT_EQ("the GIF ends after 3" + rest, problem_of({4, 0, 1, 1, 5}));
  EXPECT_EQ("the GIF ends after 2" + rest, problem_of({4, 0, 1, 5}));
  EXPECT_EQ("the GIF ends after 0" + rest, problem_of({4, 5}));
  EXPECT_EQ("", problem_of({4, 0, 1, 1, 0}));
}

}  // namespace
}  // namespace torchfeed
