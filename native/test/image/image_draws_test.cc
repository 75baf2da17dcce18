// SPDX-License-Identifier: Apache-2.0
// Draws of random transforms, compared with torchvision's: golden/image_draws.py.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/draws/random_draws.h"
#include "core/draws/random_words.h"
#include "core/image/augment/augment_draws.h"
#include "core/image/augment/mix_draws.h"
#include "core/rows/row_recipe.h"
#include "image/golden_lines.h"
#include "image/operation_names.h"
#include "image/torch_words.h"

namespace torchfeed {
namespace {

using testing::GoldenLine;
using testing::TorchWords;

std::vector<GoldenLine> lines(const std::string& kind) {
  return testing::golden_lines("image_draws.txt", kind);
}

TorchWords seeded(GoldenLine& line) { return TorchWords(static_cast<uint32_t>(line.integer())); }

Interval range(GoldenLine& line) {
  const double min = line.number();
  return {min, line.number()};
}

Box box(GoldenLine& line) {
  const int64_t top = line.integer();
  const int64_t left = line.integer();
  const int64_t height = line.integer();
  return {top, left, height, line.integer()};
}

/// A magnitude of torchvision as the value of an operation.
ImageOperation operation(GoldenLine& line) {
  const ImageOperationKind kind = testing::operation_of(line.word());
  const double magnitude = line.number();
  switch (kind) {
    case ImageOperationKind::kBrightness:
    case ImageOperationKind::kSaturation:
    case ImageOperationKind::kContrast:
    case ImageOperationKind::kSharpness:
      return {kind, 1 + magnitude};
    case ImageOperationKind::kSolarize:
      return {kind, 255 * magnitude};
    default:
      return {kind, magnitude};
  }
}

std::vector<ImageOperation> operations(GoldenLine& line) {
  std::vector<ImageOperation> operations;
  while (!line.at_end()) {
    operations.push_back(operation(line));
  }
  return operations;
}

void expect_equal(const std::vector<ImageOperation>& expected,
                  const std::vector<ImageOperation>& drawn, const GoldenLine& line) {
  ASSERT_EQ(expected.size(), drawn.size()) << line.text();
  for (size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_EQ(expected[i].kind, drawn[i].kind) << line.text();
    EXPECT_EQ(expected[i].value, drawn[i].value) << line.text();
  }
}

TEST(SampleWords, AreThoseOfJavasSampleRandom) {
  for (auto& line : lines("words")) {
    const int64_t seed = line.integer();
    const int64_t epoch = line.integer();
    SampleWords words(seed, epoch, line.integer());
    while (!line.at_end()) {
      EXPECT_EQ(line.integer(), words.next()) << line.text();
    }
  }
}

TEST(RandomWords, UniformNumbersEqualTorchs) {
  for (auto& line : lines("uniform")) {
    TorchWords words = seeded(line);
    const auto [low, high] = range(line);
    while (!line.at_end()) {
      EXPECT_EQ(line.number(), words.uniform(static_cast<float>(low), static_cast<float>(high)))
          << line.text();
    }
  }
}

TEST(RandomWords, OrdersAndIntegersEqualTorchs) {
  for (auto& line : lines("integers")) {
    TorchWords words = seeded(line);
    for (const auto number : words.order<4>()) {
      EXPECT_EQ(line.integer(), number) << line.text();
    }
    for (const int64_t limit : {1, 2, 31, 500, (1 << 28) - 1}) {
      EXPECT_EQ(line.integer(), words.below(limit)) << line.text();
    }
  }
}

RandomResizedCrop crop_of(GoldenLine& line) {
  RandomResizedCrop crop;
  crop.scale = range(line);
  crop.ratio = range(line);
  return crop;
}

TEST(RandomResizedCrop, BoxesOfTwentyThousandSeedsEqualTorchvisions) {
  for (auto& line : lines("crops")) {
    const int64_t first = line.integer();
    const int64_t height = line.integer();
    const int64_t width = line.integer();
    const RandomResizedCrop crop = crop_of(line);
    uint32_t digest = 0;
    for (int64_t seed = first; seed < first + 100; ++seed) {
      TorchWords words(static_cast<uint32_t>(seed));
      const Box drawn = draw_crop(crop, words, height, width);
      const std::array<int32_t, 4> fields = {
          static_cast<int32_t>(drawn.top), static_cast<int32_t>(drawn.left),
          static_cast<int32_t>(drawn.height), static_cast<int32_t>(drawn.width)};
      digest = testing::crc32(fields.data(), sizeof(fields), digest);
    }
    EXPECT_EQ(line.integer(), digest) << line.text();
  }
}

TEST(RandomResizedCrop, BoxesEqualTorchvisions) {
  for (auto& line : lines("crop")) {
    TorchWords words = seeded(line);
    const int64_t height = line.integer();
    const int64_t width = line.integer();
    const RandomResizedCrop crop = crop_of(line);
    EXPECT_EQ(box(line), draw_crop(crop, words, height, width)) << line.text();
  }
}

TEST(RandomResizedCrop, LiesWithinTheImageForAnyWords) {
  for (int64_t index = 0; index < 3000; ++index) {
    SampleWords words(7, 0, index);
    const int64_t height = 1 + words.below(index % 3 == 0 ? 4 : 700);
    const int64_t width = 1 + words.below(index % 5 == 0 ? 4 : 700);
    const Box drawn = draw_crop({}, words, height, width);
    EXPECT_GE(drawn.top, 0);
    EXPECT_GE(drawn.left, 0);
    EXPECT_GE(drawn.height, 1);
    EXPECT_GE(drawn.width, 1);
    EXPECT_LE(drawn.top + drawn.height, height);
    EXPECT_LE(drawn.left + drawn.width, width);
  }
}

TEST(RandomEvents, AreThoseOfTorchvisionsFlips) {
  for (auto& line : lines("events")) {
    const double probability = line.number();
    const std::string happened = line.word();
    for (size_t seed = 0; seed < happened.size(); ++seed) {
      TorchWords words(static_cast<uint32_t>(seed));
      EXPECT_EQ(happened[seed] == '1', draw_event(probability, words)) << seed << line.text();
    }
  }
}

TEST(ColorJitter, OrderAndFactorsEqualTorchvisions) {
  for (auto& line : lines("jitter")) {
    TorchWords words = seeded(line);
    const auto optional_range = [&]() -> std::optional<Interval> {
      const std::string min = line.word();
      const std::string max = line.word();
      if (min == "-") {
        return std::nullopt;
      }
      return Interval{std::strtod(min.c_str(), nullptr), std::strtod(max.c_str(), nullptr)};
    };
    ColorJitter jitter;
    jitter.brightness = optional_range();
    jitter.contrast = optional_range();
    jitter.saturation = optional_range();
    jitter.hue = optional_range();
    std::vector<ImageOperation> drawn;
    draw_jitter(jitter, words, drawn);
    std::vector<ImageOperation> expected;
    while (!line.at_end()) {
      const ImageOperationKind kind = testing::operation_of(line.word());
      expected.push_back({kind, line.number()});
    }
    expect_equal(expected, drawn, line);
  }
}

TEST(RandomErasing, BoxesEqualTorchvisions) {
  for (auto& line : lines("erasing")) {
    TorchWords words = seeded(line);
    const int64_t height = line.integer();
    const int64_t width = line.integer();
    RandomErasing erasing;
    erasing.probability = line.number();
    erasing.scale = range(line);
    erasing.ratio = range(line);
    auto drawn = draw_erasing(erasing, words, height, width);
    if (!drawn || drawn->height == 0 || drawn->width == 0) {
      drawn = Box{0, 0, 0, 0};  // both leave the image as it is
    }
    EXPECT_EQ(box(line), *drawn) << line.text();
  }
}

TEST(RandAugment, OperationsEqualTorchvisions) {
  for (auto& line : lines("rand_augment")) {
    TorchWords words = seeded(line);
    const int64_t height = line.integer();
    const int64_t width = line.integer();
    RandAugment augment;
    augment.operations = line.integer();
    augment.magnitude = line.integer();
    augment.bins = line.integer();
    std::vector<ImageOperation> drawn;
    draw_augment(augment, words, height, width, drawn);
    expect_equal(operations(line), drawn, line);
  }
}

/// The same word again and again.
class OneWord final : public RandomWords {
 public:
  explicit OneWord(uint32_t word) : word_(word) {}
  uint32_t next() override { return word_; }

 private:
  uint32_t word_;
};

TEST(RandAugment, SignIsNegativeUpToAndIncludingOneHalf) {
  const auto drawn = [](uint32_t word) {
    OneWord words(word);
    std::vector<ImageOperation> operations;
    draw_augment(RandAugment{.operations = 1}, words, 9, 9, operations);
    return operations.at(0);
  };
  constexpr uint32_t kHalf = 1U << 23;  // of the 24 bits of a number
  EXPECT_EQ(ImageOperationKind::kTranslateY, drawn(kHalf).kind);
  EXPECT_LT(drawn(kHalf).value, 0);
  EXPECT_EQ(ImageOperationKind::kRotate, drawn(kHalf + 1).kind);
  EXPECT_GT(drawn(kHalf + 1).value, 0);
}

TEST(TrivialAugmentWide, OperationsEqualTorchvisions) {
  for (auto& line : lines("trivial_augment")) {
    TorchWords words = seeded(line);
    TrivialAugmentWide augment;
    augment.bins = line.integer();
    std::vector<ImageOperation> drawn;
    draw_augment(augment, words, drawn);
    expect_equal(operations(line), drawn, line);
  }
}

/// Returns the part of an image whose pixel i is i + 1, with 0 around it.
std::vector<int64_t> part_of(const RowPart& part, int64_t height, int64_t width) {
  std::vector<int64_t> numbers;
  for (int64_t y = part.box.top; y < part.box.top + part.box.height; ++y) {
    for (int64_t i = 0; i < part.box.width; ++i) {
      const int64_t x = part.box.left + (part.flips ? part.box.width - 1 - i : i);
      const bool inside = 0 <= y && y < height && 0 <= x && x < width;
      numbers.push_back(inside ? y * width + x + 1 : 0);
    }
  }
  return numbers;
}

TEST(RowRecipe, RandomPartsEqualTorchvisions) {
  for (auto& line : lines("part")) {
    TorchWords words = seeded(line);
    const int64_t height = line.integer();
    const int64_t width = line.integer();
    RowRecipe recipe;
    recipe.random_crop = PartSize{line.integer(), 0};
    recipe.random_crop->width = line.integer();
    recipe.margin = line.integer();
    recipe.flip_probability = line.number();
    const auto numbers = part_of(draw_part(recipe, words, height, width), height, width);
    EXPECT_EQ(line.integer(), testing::crc32(numbers.data(), numbers.size() * sizeof(int64_t)))
        << line.text();
  }
}

TEST(MixUp, WeightsEqualTorchvisions) {
  for (auto& line : lines("mixup")) {
    TorchWords words = seeded(line);
    const double alpha = line.number();
    EXPECT_EQ(line.number(), draw_mixup(alpha, words)) << line.text();
  }
}

TEST(CutMix, BoxesAndWeightsEqualTorchvisions) {
  for (auto& line : lines("cutmix")) {
    TorchWords words = seeded(line);
    const double alpha = line.number();
    const int64_t height = line.integer();
    const int64_t width = line.integer();
    const auto [drawn, lambda] = draw_cutmix(alpha, words, height, width);
    EXPECT_EQ(line.number(), lambda) << line.text();
    EXPECT_EQ(line.integer(), drawn.left) << line.text();
    EXPECT_EQ(line.integer(), drawn.top) << line.text();
    EXPECT_EQ(line.integer(), drawn.left + drawn.width) << line.text();
    EXPECT_EQ(line.integer(), drawn.top + drawn.height) << line.text();
  }
}

}  // namespace
}  // namespace torchfeed
