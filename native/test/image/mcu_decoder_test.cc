// SPDX-License-Identifier: Apache-2.0
#include "core/image/jpeg/mcu_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/image/jpeg/jpeg_coefficients.h"
#include "core/image/jpeg/jpeg_entropy.h"
#include "image/image_files.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using testing::golden_image;
using Kind = NumberTable::Kind;

constexpr std::array<uint8_t, kBlockSize> kNatural = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,   //
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,  //
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,  //
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/// Headers of a sequential JPEG of one scan.
struct Headers {
  explicit Headers(const Bytes& jpeg) {
    std::size_t at = 2;
    while (scan == 0) {
      const uint8_t marker = jpeg.at(at + 1);
      const std::size_t length = std::size_t{jpeg.at(at + 2)} << 8 | jpeg.at(at + 3);
      const auto content = std::span(jpeg).subspan(at + 4, length - 2);
      at += 2 + length;
      switch (marker) {
        case 0xc4:
          read_tables(content);
          break;
        case 0xdd:
          restart_interval = content[0] << 8 | content[1];
          break;
        case 0xda:
          for (std::size_t i = 0; i < content[0]; ++i) {
            tables.push_back(content[2 + 2 * i]);
          }
          scan = at;
          break;
        default:
          break;
      }
    }
  }

  void read_tables(std::span<const uint8_t> content) {
    constexpr std::size_t kLengths = 16;
    while (!content.empty()) {
      const auto counts = content.subspan(1, kLengths);
      std::size_t codes = 0;
      for (const uint8_t count : counts) {
        codes += count;
      }
      const bool is_ac = content[0] >> 4 != 0;
      (is_ac ? ac : dc).at(content[0] & 15) = std::make_unique<NumberTable>(
          is_ac ? Kind::kAc : Kind::kDc, counts, content.subspan(1 + kLengths, codes));
      content = content.subspan(1 + kLengths + codes);
    }
  }

  std::array<std::unique_ptr<NumberTable>, 4> dc;
  std::array<std::unique_ptr<NumberTable>, 4> ac;
  std::vector<uint8_t> tables;  // of each component
  int64_t restart_interval = 0;
  std::size_t scan = 0;  // where its data begin
};

std::vector<McuDecoder::Part> parts_of(const Headers& headers, const JpegCoefficients& image) {
  std::vector<McuDecoder::Part> parts;
  for (std::size_t i = 0; i < image.components.size(); ++i) {
    const JpegComponent& component = image.components[i];
    const int blocks = image.components.size() == 1 ? 1 : component.h * component.v;
    const uint8_t tables = headers.tables[i];
    parts.insert(parts.end(), static_cast<std::size_t>(blocks),
                 {i, headers.dc.at(tables >> 4).get(), headers.ac.at(tables & 15).get()});
  }
  return parts;
}

/// Expects the blocks of an MCU to equal the image's.
void expect_equal(const JpegCoefficients& image, int64_t x, int64_t y,
                  const std::vector<std::array<int16_t, kBlockSize>>& blocks) {
  std::size_t next = 0;
  for (const JpegComponent& component : image.components) {
    const bool is_alone = image.components.size() == 1;
    const int h = is_alone ? 1 : component.h;
    const int v = is_alone ? 1 : component.v;
    for (int row = 0; row < v; ++row) {
      for (int column = 0; column < h; ++column, ++next) {
        const JpegBlock& expected = component.block(x * h + column, y * v + row);
        for (std::size_t k = 0; k < kBlockSize; ++k) {
          ASSERT_EQ(expected[k], blocks[next][kNatural[k]]) << x << ' ' << y << ' ' << k;
        }
      }
    }
  }
}

class McuDecoderOf : public ::testing::TestWithParam<const char*> {};

TEST_P(McuDecoderOf, DecodesWhatTheReaderOfCoefficientsReads) {
  const Bytes jpeg = golden_image(GetParam());
  const auto image = read_coefficients(jpeg);
  ASSERT_TRUE(image.has_value());
  const Headers headers(jpeg);
  const auto parts = parts_of(headers, *image);
  const auto data = std::span(jpeg).subspan(headers.scan);
  McuDecoder decoder(data, parts, headers.restart_interval);
  McuDecoder skipping(data, parts, headers.restart_interval, /*window=*/1);
  const bool is_alone = image->components.size() == 1;
  const int64_t across = is_alone ? image->components[0].columns : image->mcus_across;
  const int64_t down = is_alone ? image->components[0].rows : image->mcus_down;
  for (int64_t y = 0; y < down; ++y) {
    for (int64_t x = 0; x < across; ++x) {
      std::vector<std::array<int16_t, kBlockSize>> blocks(parts.size());
      std::vector<McuDecoder::Block*> pointers;
      for (auto& block : blocks) {
        pointers.push_back(reinterpret_cast<McuDecoder::Block*>(block.data()));
      }
      ASSERT_TRUE(decoder.decode(pointers.data())) << x << ' ' << y;
      expect_equal(*image, x, y, blocks);
      ASSERT_TRUE(skipping.decode(y % 2 == 0 ? nullptr : pointers.data()));
    }
  }
  EXPECT_EQ(data.size() - 2, decoder.marker());
  EXPECT_EQ(data.size() - 2, skipping.marker());
  EXPECT_FALSE(decoder.decode(nullptr)) << "a block behind the last";
}

TEST(McuDecoder, PreparesNoMoreMemoryForALargeFileThanForASmallOne) {
  const Bytes jpeg = golden_image("420.jpg");
  const auto image = read_coefficients(jpeg);
  ASSERT_TRUE(image.has_value());
  const Headers headers(jpeg);
  Bytes data(std::size_t{1} << 26, 1);
  std::copy(jpeg.begin() + static_cast<std::ptrdiff_t>(headers.scan), jpeg.end() - 2, data.begin());
  McuDecoder decoder(data, parts_of(headers, *image), 0);
  EXPECT_TRUE(decoder.decode(nullptr));
  EXPECT_LE(decoder.prepared_bytes(), 1U << 15);
  EXPECT_EQ(data.size(), decoder.marker());
}

/// Decodes an image twice while the loaded library says something of itself; returns the log.
std::string logged_with(const char* copyright) {
  const Bytes jpeg = golden_image("420.jpg");
  const Bytes expected = testing::decoded(jpeg);
  pretend_jpeg_copyright(copyright);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(expected, testing::decoded(jpeg));
  EXPECT_EQ(expected, testing::decoded(jpeg));
  pretend_jpeg_copyright(nullptr);
  return ::testing::internal::GetCapturedStderr();
}

TEST(KnownEntropy, AnotherLibraryDecodesByItselfWithOneLineOfLog) {
  EXPECT_EQ("", logged_with("Copyright (C) 1991-2025 The libjpeg-turbo Project and many others"));
  for (const char* other : {"Copyright (C) 2020, Thomas G. Lane, Guido Vollbeding", "",
                            "Copyright (C) 1991-2031 The libjpeg-turbo Project and many others"}) {
    EXPECT_EQ(
        "torchfeed: JPEGs are decoded by libjpeg alone, with the same pixels but more slowly: the "
        "loaded library must be libjpeg-turbo 2.0 to 3.1, but says \"" +
            std::string(other) +
            "\"; use the presets of the version that torchfeed was built with\n",
        logged_with(other));
  }
}

boolean decode_nothing(j_decompress_ptr /*info*/, JBLOCKROW* /*blocks*/) { return TRUE; }

TEST(KnownEntropy, FunctionsOutsideOfTheLibraryAreAnotherLayout) {
  const Bytes jpeg = golden_image("420.jpg");
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, jpeg.data(), jpeg.size());
  jpeg_read_header(&info, TRUE);
  jpeg_start_decompress(&info);
  EntropyDecoder* const entropy = known_entropy(info);
  ASSERT_NE(nullptr, entropy);
  pretend_jpeg_copyright(nullptr);
  ::testing::internal::CaptureStderr();
  entropy->decode_mcu = decode_nothing;
  EXPECT_EQ(nullptr, known_entropy(info));
  entropy->decode_mcu = nullptr;
  EXPECT_EQ(nullptr, known_entropy(info));
  EXPECT_NE(std::string::npos, ::testing::internal::GetCapturedStderr().find("another layout"));
  jpeg_destroy_decompress(&info);
}

INSTANTIATE_TEST_SUITE_P(Golden, McuDecoderOf,
                         ::testing::Values("411.jpg", "420_odd.jpg", "422.jpg", "440.jpg",
                                           "444.jpg", "cmyk.jpg", "grey.jpg", "one_pixel.jpg",
                                           "optimized.jpg", "restart_blocks.jpg",
                                           "restart_rows.jpg", "rgb.jpg", "wide.jpg", "ycck.jpg"));

}  // namespace
}  // namespace torchfeed
