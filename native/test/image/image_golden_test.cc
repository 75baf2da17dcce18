// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/image/recipe/image_plan_reader.h"
#include "core/image/recipe/image_recipe.h"
#include "image/golden_lines.h"
#include "image/image_files.h"
#include "image/torch_words.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using testing::golden_image;

/// The lines of a kind, without it. Files are read once.
std::vector<std::string> lines_of(const std::string& kind) {
  const Bytes text = golden_image("cases.txt");
  std::istringstream stream(std::string(text.begin(), text.end()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(kind + ' ')) {
      lines.push_back(line.substr(kind.size() + 1));
    }
  }
  return lines;
}

const Bytes& content(const std::string& name) {
  static std::map<std::string, Bytes> files;
  const auto [file, is_new] = files.try_emplace(name);
  if (is_new) {
    file->second = golden_image(name);
  }
  return file->second;
}

TEST(ImageGolden, PixelsEqualPillowsAndTorchvisions) {
  const auto lines = lines_of("pass");
  std::set<std::string> files;
  for (const std::string& line : lines) {
    std::istringstream stream(line);
    std::string file;
    int dialect = 0;
    int filter = 0;
    Placement placement{};
    Region& crop = placement.crop;
    Region& window = placement.window;
    bool flips_horizontally = false;
    bool flips_vertically = false;
    uint32_t expected = 0;
    stream >> file >> dialect >> filter >> crop.left >> crop.top >> crop.width >> crop.height >>
        placement.width >> placement.height >> window.left >> window.top >> window.width >>
        window.height >> flips_horizontally >> flips_vertically >> std::hex >> expected;
    ASSERT_FALSE(stream.fail()) << line;
    files.insert(file);
    for (const ResampleKernels& kernels : resample_kernels()) {
      const Resize resize{static_cast<ResizeDialect>(dialect), static_cast<ResizeFilter>(filter),
                          &kernels};
      const Bytes pixels =
          testing::passed(content(file), placement, resize, flips_horizontally, flips_vertically);
      EXPECT_EQ(expected, testing::crc32(pixels.data(), pixels.size()))
          << kernels.name << ' ' << line;
    }
  }
  EXPECT_GE(lines.size(), 1100U);
  EXPECT_GE(files.size(), 44U);
}

/// Compares the rows of plans, drawn from torch's words.
void expect_rows(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    std::istringstream stream(line);
    std::string file;
    uint32_t expected = 0;
    uint32_t seed = 0;
    stream >> file >> std::hex >> expected >> std::dec >> seed;
    std::vector<double> steps;
    for (std::string number; stream >> number;) {
      steps.push_back(std::stod(number));  // also NaN
    }
    const ImageRecipe recipe = read_plan(steps);
    Bytes row(static_cast<std::size_t>(recipe.row_bytes()));
    testing::TorchWords words(seed);
    make_row(recipe, content(file), words, reinterpret_cast<std::byte*>(row.data()));
    EXPECT_EQ(expected, testing::crc32(row.data(), row.size())) << line;
  }
}

/// The cases that cut out a part without scaling also test a plan's crop.
TEST(ImageGolden, CropsOfPlansEqualThoseOfPillow) {
  int compared = 0;
  for (const std::string& line : lines_of("pass")) {
    std::istringstream stream(line);
    std::string file;
    std::array<int64_t, 14> numbers{};
    uint32_t expected = 0;
    stream >> file;
    for (int64_t& number : numbers) {
      stream >> number;
    }
    stream >> std::hex >> expected;
    ASSERT_FALSE(stream.fail()) << line;
    const auto [dialect, filter, left, top, width, height, to_width, to_height, window_left,
                window_top, window_width, window_height, flips, flips_too] = numbers;
    const bool is_window =
        window_left != 0 || window_top != 0 || window_width != width || window_height != height;
    if (width != to_width || height != to_height || is_window || flips + flips_too > 0) {
      continue;
    }
    ++compared;
    const auto number = [](int64_t integer) { return static_cast<double>(integer); };
    const ImageRecipe recipe = read_plan(
        std::vector<double>{0, 0, 1, 14, number(height), number(width), number(top), number(left)});
    Bytes planes(static_cast<std::size_t>(recipe.row_bytes()));
    testing::TorchWords words(0);
    make_row(recipe, content(file), words, reinterpret_cast<std::byte*>(planes.data()));
    Bytes pixels;
    const auto area = static_cast<std::size_t>(width * height);
    for (std::size_t i = 0; i < area; ++i) {
      pixels.insert(pixels.end(), {planes[i], planes[area + i], planes[2 * area + i]});
    }
    EXPECT_EQ(expected, testing::crc32(pixels.data(), pixels.size())) << line;
  }
  EXPECT_GE(compared, 500);
}

TEST(ImageGolden, CropsAreBlackOutsideOfTheImage) {
  const Bytes whole = testing::decoded(content("rgb.png"));  // 37 x 29
  for (const auto& [top, left] :
       {std::pair{-5, -7}, {20, 30}, {-200, 3}, {3, 500}, {29, 0}, {0, -12}}) {
    const ImageRecipe recipe = read_plan(std::vector<double>{
        0, 0, 1, 14, 10, 12, static_cast<double>(top), static_cast<double>(left)});
    Bytes row(360, 9);
    testing::TorchWords words(0);
    make_row(recipe, content("rgb.png"), words, reinterpret_cast<std::byte*>(row.data()));
    for (int i = 0; i < 360; ++i) {
      const int y = i % 120 / 12 + top;
      const int x = i % 12 + left;
      const bool is_inside = y >= 0 && y < 29 && x >= 0 && x < 37;
      const int expected =
          is_inside ? whole[static_cast<std::size_t>(3 * (37 * y + x) + i / 120)] : 0;
      ASSERT_EQ(expected, row[static_cast<std::size_t>(i)]) << top << ' ' << left << ' ' << i;
    }
  }
}

TEST(ImageGolden, RowsEqualThoseOfTorchvisionsTransforms) {
  const auto lines = lines_of("plan");
  expect_rows(lines);
  EXPECT_GE(lines.size(), 40U);
}

TEST(ImageGolden, RandomRowsEqualThoseOfTorchvisionsTransforms) {
  const auto lines = lines_of("draw");
  expect_rows(lines);
  EXPECT_GE(lines.size(), 400U);
}

}  // namespace
}  // namespace torchfeed
