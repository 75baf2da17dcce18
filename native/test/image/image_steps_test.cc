// SPDX-License-Identifier: Apache-2.0
// Operations on images and their random sequences, compared with torchvision's:
// golden/image_steps.py.
#include "core/image/augment/image_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/draws/center_box.h"
#include "core/image/augment/blur.h"
#include "core/image/augment/fused_target.h"
#include "image/golden_lines.h"
#include "image/image_samples.h"
#include "image/operation_names.h"
#include "image/torch_words.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

using testing::computed_image;
using testing::GoldenLine;
using testing::Image;
using testing::TorchWords;

std::vector<GoldenLine> lines(const std::string& kind) {
  return testing::golden_lines("image_steps.txt", kind);
}

Image image(GoldenLine& line) {
  const std::string kind = line.word();
  const int64_t height = line.integer();
  const int64_t width = line.integer();
  static std::map<std::tuple<std::string, int64_t, int64_t>, Image> known;
  const std::tuple key(kind, height, width);
  const auto place = known.find(key);
  if (place != known.end()) {
    return place->second;
  }
  return known.emplace(key, computed_image(kind, height, width)).first->second;
}

int64_t check_sum(const Image& image) {
  return testing::crc32(image.bytes.data(), image.bytes.size());
}

void expect_golden_operations() {
  std::vector<uint8_t> spare;
  for (auto& line : lines("operation")) {
    DrawnOperation operation{};
    operation.operation.kind = testing::operation_of(line.word());
    operation.operation.value = line.number();
    operation.resampling.filter =
        line.word() == "bilinear" ? Resampling::Filter::kBilinear : Resampling::Filter::kNearest;
    for (auto& channel : operation.resampling.fill) {
      channel = static_cast<uint8_t>(line.integer());
    }
    Image made = image(line);
    apply(operation, made.pixels(), spare);
    EXPECT_EQ(line.integer(), check_sum(made)) << line.text();
  }
}

TEST(ImageOperations, EqualTorchvisions) { expect_golden_operations(); }

// Under a sanitizer, which need not see each image, the blurs would take 90 s of processor time,
// most of it for the largest kernel.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kTimesFewerBlurs = 2;
constexpr int64_t kLargestKernel = 127;
#else
constexpr size_t kTimesFewerBlurs = 1;
constexpr int64_t kLargestKernel = 255;
#endif

/// Compares one of every `every` golden blurs, the last one, with the largest kernel, among them.
void expect_golden_blurs(size_t every) {
  std::vector<uint8_t> spare;
  auto all = lines("blur");
  size_t left = all.size();
  for (auto& line : all) {
    if (--left % (every * kTimesFewerBlurs) != 0) {
      continue;
    }
    const int64_t kernel = line.integer();
    if (kernel > kLargestKernel) {
      continue;
    }
    const double sigma = line.number();
    Image made = image(line);
    gaussian_blur(made.pixels(), kernel, sigma, spare);
    EXPECT_EQ(line.integer(), check_sum(made)) << line.text();
  }
}

// Blurs have no vector forms of their own, so these tests are not run for each.
TEST(ImageBlurs, EqualTorchvisions) { expect_golden_blurs(5); }

TEST(ImageBlurs, TheLargestKernelLeavesAnImageOfOneColorAsItIs) {
  std::vector<uint8_t> spare;
  for (const bool is_fused : {true, false}) {
    allow_fused_target(is_fused);
    Image made = computed_image("flat", 5, 7);
    const auto expected = made.bytes;
    gaussian_blur(made.pixels(), 255, 40.0, spare);
    EXPECT_EQ(expected, made.bytes);
  }
  allow_fused_target(true);
}

TEST(ImageBlurs, EqualTorchvisionsOnAProcessorWithoutFusedMultiplyAdds) {
  allow_fused_target(false);
  EXPECT_FALSE(runs_fused_target());
  expect_golden_blurs(17);  // in software, slowly
  allow_fused_target(true);
}

TEST(ImageOperations, EqualTorchvisionsOnAProcessorWithoutFusedMultiplyAdds) {
  allow_fused_target(false);
  expect_golden_operations();
  allow_fused_target(true);
}

/// Copies a rectangle, which may lie partly outside of `source`, to `target`, which has its size.
void cut(const Image& source, const Box& box, Image& target) {
  for (int64_t y = 0; y < box.height; ++y) {
    for (int64_t x = 0; x < box.width; ++x) {
      const int64_t from_y = box.top + y;
      const int64_t from_x = box.left + x;
      const bool is_inside =
          from_y >= 0 && from_y < source.height && from_x >= 0 && from_x < source.width;
      for (int64_t channel = 0; channel < 3; ++channel) {
        target.bytes[static_cast<size_t>(3 * (box.width * y + x) + channel)] =
            is_inside
                ? source.bytes[static_cast<size_t>(3 * (source.width * from_y + from_x) + channel)]
                : 0;
      }
    }
  }
}

TEST(CenterCrop, EqualsTorchvisionsAndPadsSmallerImages) {
  for (auto& line : lines("centre_crop")) {
    Image source = image(line);
    const int64_t height = line.integer();
    const int64_t width = line.integer();
    Image made(height, width);
    cut(source, center_box(source.height, source.width, height, width), made);
    EXPECT_EQ(line.integer(), check_sum(made)) << line.text();
  }
}

const std::map<std::string, std::vector<ImageStep>>& plans() {
  constexpr auto kBilinear = Resampling::Filter::kBilinear;
  constexpr std::array<uint8_t, 3> kFill = {124, 116, 104};
  constexpr ImageOperation kGray{ImageOperationKind::kGray, 0};
  static const std::map<std::string, std::vector<ImageStep>> plans = {
      {"rand", {RandAugment{}}},
      {"rand_filled",
       {RandAugment{.operations = 3, .magnitude = 20, .resampling = {.fill = kFill}}}},
      {"trivial", {TrivialAugmentWide{}}},
      {"trivial_filled", {TrivialAugmentWide{.resampling = {.fill = kFill}}}},
      {"rand_bilinear", {RandAugment{.magnitude = 14, .resampling = {.filter = kBilinear}}}},
      {"trivial_bilinear",
       {TrivialAugmentWide{.resampling = {.filter = kBilinear, .fill = kFill}}}},
      {"jitter",
       {HorizontalFlip{}, ColorJitter{.brightness = Interval{1 - 0.4, 1.4},
                                      .contrast = Interval{1 - 0.4, 1.4},
                                      .saturation = Interval{1 - 0.4, 1.4},
                                      .hue = Interval{-0.1, 0.1}}}},
      {"many",
       {VerticalFlip{0.3}, HorizontalFlip{0.7},
        RandomOperation{0.2, {ImageOperationKind::kGray, 0}},
        RandomOperation{0.3, {ImageOperationKind::kInvert, 0}},
        RandomOperation{0.3, {ImageOperationKind::kSolarize, 100}},
        RandomOperation{0.5, {ImageOperationKind::kSharpness, 1.7}},
        ColorJitter{.brightness = Interval{1 - 0.8, 1.8},
                    .contrast = Interval{0.5, 1.5},
                    .saturation = Interval{0.8, 1.2},
                    .hue = Interval{-0.5, 0.5}},
        RandAugment{.operations = 1, .magnitude = 12},
        RandomErasing{.probability = 0.6, .fill = {9, 99, 199}}, RandomErasing{}}},
      {"simclr",
       {HorizontalFlip{}, RandomApply{0.8, 1},
        ColorJitter{.brightness = Interval{1 - 0.8, 1.8},
                    .contrast = Interval{1 - 0.8, 1.8},
                    .saturation = Interval{1 - 0.8, 1.8},
                    .hue = Interval{-0.2, 0.2}},
        RandomOperation{0.2, kGray}, RandomApply{0.5, 1}, GaussianBlur{23}}},
      {"any_order",
       {ColorJitter{.brightness = Interval{1 - 0.4, 1.4}}, HorizontalFlip{},
        RandomErasing{.fill = {9, 99, 199}}, GaussianBlur{5, {0.3, 0.9}},
        RandomErasing{.fill = {250, 50, 5}}, VerticalFlip{0.6}, HorizontalFlip{0.3},
        ColorJitter{.brightness = Interval{0.8, 1.2}, .contrast = Interval{0.8, 1.2}},
        GaussianBlur{9, {1.3, 1.3}}, TrivialAugmentWide{}, RandomErasing{.probability = 0.3}}},
      {"nested",
       {RandomApply{0.8, 3}, VerticalFlip{}, RandomApply{0.5, 1}, HorizontalFlip{},
        RandomApply{0.7, 9}, RandomOperation{0.5, kGray}, RandomApply{0.6, 2},
        GaussianBlur{3, {0.5, 1}}, VerticalFlip{}, RandomApply{0.9, 3}, RandomApply{0.8, 2},
        RandomApply{0.7, 1}, RandAugment{}, RandomErasing{.fill = {1, 2, 3}}, RandomApply{0.3, 1},
        kGray, RandomApply{0, 1}, ColorJitter{.hue = Interval{-0.3, 0.3}}, HorizontalFlip{}}},
  };
  return plans;
}

TEST(ImageSteps, WholeSequencesEqualTorchvisions) {
  std::vector<uint8_t> spare;
  for (auto& line : lines("plan")) {
    const ImageSteps steps(plans().at(line.word()));
    TorchWords words(static_cast<uint32_t>(line.integer()));
    Image made = image(line);
    apply(steps.draw(words, made.height, made.width), made.pixels(), spare);
    EXPECT_EQ(line.integer(), check_sum(made)) << line.text();
  }
}

TEST(ImageSteps, WriteNothingBesideTheImage) {
  constexpr int64_t kGuard = 64;
  std::vector<uint8_t> spare;
  for (int64_t index = 0; index < 2000; ++index) {
    const auto plan = std::next(plans().begin(), index % static_cast<int64_t>(plans().size()));
    SampleWords words(3, 0, index);
    const int64_t height = 1 + words.below(20);
    const int64_t width = 1 + words.below(90);
    std::vector<uint8_t> bytes(static_cast<size_t>(3 * height * width + 2 * kGuard), 0xEE);
    const Pixels pixels{bytes.data() + kGuard, width, height};
    apply(ImageSteps(plan->second).draw(words, height, width), pixels, spare);
    const auto is_guard = [](uint8_t byte) { return byte == 0xEE; };
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.begin() + kGuard, is_guard)) << index;
    EXPECT_TRUE(std::all_of(bytes.end() - kGuard, bytes.end(), is_guard)) << index;
  }
}

TEST(ImageSteps, DependOnSeedEpochAndIndexAlone) {
  const ImageSteps steps(plans().at("many"));
  const auto made = [&](int64_t seed, int64_t epoch, int64_t index) {
    std::vector<uint8_t> spare;
    Image image = computed_image("noise", 20, 30);
    SampleWords words(seed, epoch, index);
    apply(steps.draw(words, 20, 30), image.pixels(), spare);
    return image.bytes;
  };
  EXPECT_EQ(made(1, 2, 3), made(1, 2, 3));
  EXPECT_NE(made(1, 2, 3), made(1, 2, 4));
  EXPECT_NE(made(1, 2, 3), made(1, 3, 3));
  EXPECT_NE(made(1, 2, 3), made(2, 2, 3));
}

TEST(ImageSteps, ReportWhetherOnlyFlipsHappen) {
  SampleWords words(0, 0, 0);
  const DrawnSteps flips = ImageSteps({HorizontalFlip{1}, VerticalFlip{1}}).draw(words, 8, 8);
  EXPECT_TRUE(flips.flips_horizontally);
  EXPECT_TRUE(flips.flips_vertically);
  EXPECT_TRUE(flips.only_flips());
  const RandomOperation gray{1, {ImageOperationKind::kGray, 0}};
  EXPECT_FALSE(ImageSteps({gray}).draw(words, 8, 8).only_flips());
  EXPECT_TRUE(ImageSteps({RandomOperation{0, gray.operation}}).draw(words, 8, 8).only_flips());
  EXPECT_TRUE(ImageSteps({RandomApply{0.5, 1}, HorizontalFlip{1}}).only_flips());
  EXPECT_FALSE(ImageSteps({RandomApply{0, 1}, gray, HorizontalFlip{1}}).only_flips());
}

TEST(ImageSteps, TwoFlipsOfOneKindCancel) {
  SampleWords words(0, 0, 0);
  EXPECT_FALSE(
      ImageSteps({HorizontalFlip{1}, HorizontalFlip{1}}).draw(words, 8, 8).flips_horizontally);
}

void expect_rejected(const std::string& part, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "was accepted: " << part;
  } catch (const Error& e) {
    EXPECT_EQ(ErrorCode::kInvalidArgument, e.code());
    EXPECT_NE(std::string::npos, std::string(e.what()).find(part)) << e.what();
  }
}

TEST(ImageSteps, ParametersAreChecked) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto rejects = [](const std::string& part, const ImageStep& step) {
    expect_rejected(part, [&] { ImageSteps({step}); });
  };
  rejects("probability must be in [0, 1], got 1.5", HorizontalFlip{1.5});
  rejects("probability must be in [0, 1], got nan", VerticalFlip{kNaN});
  rejects("factor must be", RandomOperation{1, {ImageOperationKind::kContrast, -1}});
  rejects("bits must be in [0, 8]", RandomOperation{1, {ImageOperationKind::kPosterize, 9}});
  rejects("threshold must be", RandomOperation{1, {ImageOperationKind::kSolarize, 256}});
  rejects("hue must be", RandomOperation{1, {ImageOperationKind::kHue, 0.6}});
  rejects("value must be", RandomOperation{1, {ImageOperationKind::kRotate, kNaN}});
  rejects("brightness must be a range", ColorJitter{.brightness = Interval{1.4, 0.6}});
  rejects("hue must be a range within [-0.5, 0.5], got [-0.6, 0.1]",
          ColorJitter{.hue = Interval{-0.6, 0.1}});
  rejects("bins must be", RandAugment{.magnitude = 0, .bins = 1});
  rejects("magnitude must be in [0, 30], got 31", RandAugment{.magnitude = 31});
  rejects("operations must be", RandAugment{.operations = -1});
  rejects("bins must be", TrivialAugmentWide{.bins = 0});
  rejects("scale must be", RandomErasing{.scale = {0.5, 1.5}});
  rejects("ratio must be", RandomErasing{.ratio = {0, 1}});
  rejects("hue must be", ImageOperation{ImageOperationKind::kHue, kNaN});
  for (const int64_t even : {2, 4, 254}) {
    rejects("kernel must be odd, got " + std::to_string(even), GaussianBlur{even});
  }
  for (const int64_t kernel : {-1, 0, 256, 257}) {
    rejects("kernel must be in [1, 255], got " + std::to_string(kernel), GaussianBlur{kernel});
  }
  for (const Interval sigma : {Interval{0, 1}, Interval{-1, 1}, Interval{1, 0.9}, Interval{1, kNaN},
                               Interval{kNaN, 1}, Interval{1, 1001}}) {
    rejects("sigma must be a range within [0.001, 1000]", GaussianBlur{3, sigma});
  }
  expect_rejected("scale must be", [] { check(RandomResizedCrop{.scale = {-0.1, 1}}); });
  expect_rejected("ratio must be", [] { check(RandomResizedCrop{.ratio = {2, 1}}); });
  EXPECT_NO_THROW(check(RandomResizedCrop{}));
}

TEST(ImageSteps, ARandomApplyHasStepsInsideOfItsOwn) {
  const auto rejects = [](const std::string& part, const std::vector<ImageStep>& steps) {
    expect_rejected(part, [&] { ImageSteps{steps}; });
  };
  const HorizontalFlip flip;
  rejects("probability must be in [0, 1], got nan",
          {RandomApply{std::numeric_limits<double>::quiet_NaN(), 1}, flip});
  rejects("probability must be in [0, 1], got 1.5", {RandomApply{1.5, 1}, flip});
  rejects("steps must be in [1, 0], got 1", {RandomApply{0.5, 1}});
  rejects("steps must be in [1, 1], got 0", {RandomApply{0.5, 0}, flip});
  rejects("steps must be in [1, 1], got 2", {RandomApply{0.5, 2}, flip});
  rejects("steps must be in [1, 1], got 2",
          {RandomApply{1, 4}, RandomApply{1, 2}, RandomApply{1, 2}, flip, flip});
  EXPECT_NO_THROW(ImageSteps({RandomApply{1, 4}, RandomApply{1, 3}, RandomApply{1, 1}, flip, flip,
                              RandomApply{1, 1}, flip}));
}

TEST(ImageSteps, OfThousandsOfStepsInsideOfEachOtherAreDrawn) {
  constexpr int64_t kDepth = 100'000;
  std::vector<ImageStep> steps;
  for (int64_t left = kDepth; left > 0; --left) {
    steps.emplace_back(RandomApply{1, left});
  }
  steps.emplace_back(HorizontalFlip{1});
  SampleWords words(0, 0, 0);
  EXPECT_TRUE(ImageSteps(std::move(steps)).draw(words, 1, 1).flips_horizontally);
}

}  // namespace
}  // namespace torchfeed
