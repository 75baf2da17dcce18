// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "image/image_files.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using testing::golden_image;
using testing::kGetAgain;

std::string refusal_of(const Bytes& encoded) {
  return testing::problem([&] { testing::decoded(encoded); });
}

Bytes bytes_of(std::string_view content) { return {content.begin(), content.end()}; }

TEST(ImageRefusals, OtherFormatsAreNamedByTheirFirstBytes) {
  EXPECT_EQ("the image is empty" + kGetAgain, refusal_of({}));
  const auto refused = [](const std::string& bytes) {
    return "an image must be a JPEG, PNG, WebP, BMP, GIF, PNM or TIFF, but its first bytes are " +
           bytes + "; convert it to PNG, or leave it out";
  };
  EXPECT_EQ(refused("66 74 79 70 61 76 69 66"), refusal_of(bytes_of("ftypavif")));
  EXPECT_EQ(refused("ff d8"), refusal_of(bytes_of("\xff\xd8")));
  EXPECT_EQ(refused("52 49 46 46 31 32 33 34"), refusal_of(bytes_of("RIFF1234WAVEfmt ")));
  EXPECT_EQ("the GIF is cut off" + kGetAgain, refusal_of(bytes_of("GIF89a")));
}

/// Pillow 13 reads the first of the damaged files, and refuses the others.
TEST(ImageRefusals, ADamagedPngIsNamedWithTheRemedy) {
  const Bytes whole = golden_image("rgb.png");
  const auto damaged = [&](std::string_view chunk) {
    Bytes png = whole;
    const auto name = std::search(png.begin(), png.end(), chunk.begin(), chunk.end());
    const std::size_t length = std::size_t{256} * name[-2] + name[-1];
    name[static_cast<std::ptrdiff_t>(4 + length)] ^= 1;
    return png;
  };
  EXPECT_EQ("", refusal_of(whole));
  EXPECT_EQ(
      "the PNG is damaged: IDAT: CRC error; Pillow does not compare this checksum: save it again "
      "with Pillow" +
          kGetAgain,
      refusal_of(damaged("IDAT")));
  EXPECT_EQ("the PNG is damaged: IHDR: CRC error" + kGetAgain, refusal_of(damaged("IHDR")));
  EXPECT_EQ(
      "the PNG is damaged: it is cut off" + kGetAgain,
      refusal_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2)}));
}

TEST(ImageRefusals, AJpegOfAnotherKindIsNamedWithTheRemedy) {
  Bytes jpeg = golden_image("444.jpg");
  const Bytes marker = bytes_of("\xff\xc0");
  const auto frame = std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end());
  ASSERT_NE(jpeg.end(), frame);
  frame[1] = 0xcd;
  EXPECT_EQ("Unsupported JPEG process: SOF type 0xcd; convert it to PNG, or leave it out",
            refusal_of(jpeg));
}

TEST(ImageRefusals, FilesThatWereNotDownloadedAreNamedWithTheRemedy) {
  EXPECT_EQ("it is a Git LFS pointer in the place of the file; get the file by git lfs pull",
            refusal_of(bytes_of("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a")));
  for (const char* page : {"<!DOCTYPE html>", "<!doctype html>", "<HTML lang=en>", "<html>"}) {
    EXPECT_EQ(
        "it is a web page in the place of the file, for example of a login or an error; download "
        "the file itself",
        refusal_of(bytes_of(page)));
  }
}

}  // namespace
}  // namespace torchfeed
