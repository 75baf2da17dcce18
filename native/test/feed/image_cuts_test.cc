// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/image_cuts.h"

#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/image/recipe/image_plan_reader.h"
#include "core/image/recipe/image_recipe.h"
#include "image/image_files.h"
#include "torchfeed/error.h"
#include "torchfeed/image_plan.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using Steps = std::vector<double>;

constexpr int64_t kSeed = 5;
constexpr int64_t kEpoch = 2;

/// The whole image `[3, height, width]`, before it is turned.
torch::Tensor whole(const Bytes& encoded) {
  const auto source = open_image(encoded);
  Bytes pixels = testing::decoded(encoded);
  return torch::from_blob(pixels.data(), {source->height(), source->width(), 3}, torch::kByte)
      .permute({2, 0, 1})
      .clone(torch::MemoryFormat::Contiguous);
}

int64_t numbers_of(const Steps& steps) { return static_cast<int64_t>(steps.size()); }

/// Images, and the index that each is drawn for.
struct Images {
  std::vector<Bytes> encoded;
  std::vector<torch::Tensor> pixels;
};

Images images_of(const std::vector<std::string>& names) {
  Images images;
  for (const std::string& name : names) {
    images.encoded.push_back(testing::golden_image(name));
    images.pixels.push_back(whole(images.encoded.back()));
  }
  return images;
}

/// The batch of images that are drawn for `first` and the numbers after it.
torch::Tensor batch_of(const Steps& steps, const Images& images, int64_t first) {
  const ImageRecipe recipe = read_plan(steps);
  const auto count = static_cast<int64_t>(images.pixels.size());
  const torch::Tensor rows =
      torch::full({count, 3, recipe.height, recipe.width}, 77, torch::kFloat);
  std::vector<uint8_t> flips;
  for (int64_t i = 0; i < count; ++i) {
    const Bytes& encoded = images.encoded[static_cast<size_t>(i)];
    flips.push_back(static_cast<uint8_t>(ImageCuts::cut(
        steps.data(), numbers_of(steps), encoded.data(), static_cast<int64_t>(encoded.size()),
        kSeed, kEpoch, first + i, images.pixels[static_cast<size_t>(i)], rows, i)));
  }
  return ImageCuts::finish(steps.data(), numbers_of(steps), rows, flips.data());
}

torch::Tensor cut(const Steps& steps, const Bytes& encoded, int64_t index) {
  return batch_of(steps, {{encoded}, {whole(encoded)}}, index)[0];
}

/// A row by one operation after another, for each image by itself: slow, and obvious.
torch::Tensor cut_alone(const Steps& steps, const torch::Tensor& pixels, int64_t index) {
  const ImageRecipe recipe = read_plan(steps);
  SampleWords words(kSeed, kEpoch, index);
  const Placement place = torchfeed::place(recipe, words, pixels.size(1), pixels.size(2));
  const DrawnSteps drawn = recipe.steps.draw(words, recipe.height, recipe.width);
  torch::Tensor row = pixels.narrow(1, place.crop.top, place.crop.height)
                          .narrow(2, place.crop.left, place.crop.width);
  if (row.size(1) != place.height || row.size(2) != place.width) {
    const torch::Tensor numbers = row.to(torch::kFloat).unsqueeze(0);
    const std::array<int64_t, 2> size{place.height, place.width};
    row = (recipe.resize.filter == ResizeFilter::kBilinear
               ? at::_upsample_bilinear2d_aa(numbers, size, false)
               : at::_upsample_bicubic2d_aa(numbers, size, false))
              .squeeze(0)
              .round_()
              .clamp_(0, 255)
              .to(torch::kByte);
  }
  const Region& window = place.window;
  if (window.left >= row.size(2) || window.top >= row.size(1)) {  // nothing of the image
    row = torch::zeros({3, window.height, window.width}, torch::kByte);
  } else if (window.left != 0 || window.top != 0 || window.width != row.size(2) ||
             window.height != row.size(1)) {
    row = at::constant_pad_nd(row,
                              {-window.left, window.left + window.width - row.size(2), -window.top,
                               window.top + window.height - row.size(1)},
                              0);
  }
  row = drawn.flips_horizontally ? row.flip({2}) : row;
  return (drawn.flips_vertically ? row.flip({1}) : row).contiguous();
}

torch::Tensor batch_alone(const Steps& steps, const Images& images, int64_t first) {
  std::vector<torch::Tensor> rows;
  for (const torch::Tensor& pixels : images.pixels) {
    rows.push_back(cut_alone(steps, pixels, first + static_cast<int64_t>(rows.size())));
  }
  return torch::stack(rows);
}

/// Counts the operations of this thread that a device would start one by one: not views, and not
/// the copies that the host makes within an operation.
class StartedOperations {
 public:
  StartedOperations()
      : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end))) {
    count_ = 0;
  }
  StartedOperations(const StartedOperations&) = delete;
  StartedOperations& operator=(const StartedOperations&) = delete;
  ~StartedOperations() { at::removeCallback(handle_); }

  [[nodiscard]] int64_t count() const { return count_; }

 private:
  static bool is_started(const at::RecordFunction& operation) {
    static const std::set<std::string> names = {"aten::copy_",  "aten::_upsample_bilinear2d_aa",
                                                "aten::round_", "aten::clamp_",
                                                "aten::flip",   "aten::constant_pad_nd",
                                                "aten::cat",    "aten::where",
                                                "aten::fill_",  "aten::zero_"};
    return names.count(operation.name()) > 0;
  }
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& operation) {
    if (is_started(operation) && inside_++ == 0) {
      ++count_;
    }
    return nullptr;
  }
  static void end(const at::RecordFunction& operation, at::ObserverContext* /*context*/) {
    if (is_started(operation)) {
      --inside_;
    }
  }

  static thread_local int64_t count_;
  static thread_local int64_t inside_;
  const at::CallbackHandle handle_;
};

thread_local int64_t StartedOperations::count_ = 0;
thread_local int64_t StartedOperations::inside_ = 0;

/// The row that torchfeed's own decoding makes.
torch::Tensor row_of(const Steps& steps, const Bytes& encoded, int64_t index) {
  const ImageRecipe recipe = read_plan(steps);
  torch::Tensor row = torch::empty({3, recipe.height, recipe.width},
                                   recipe.normalization ? torch::kFloat : torch::kByte);
  SampleWords words(kSeed, kEpoch, index);
  make_row(recipe, encoded, words, static_cast<std::byte*>(row.data_ptr()));
  return row;
}

/// The largest difference of two bytes.
int64_t difference(const torch::Tensor& first, const torch::Tensor& second) {
  return (first.to(torch::kLong) - second.to(torch::kLong)).abs().max().item<int64_t>();
}

void expect_refused(const Steps& steps, const std::string& problem) {
  try {
    ImageCuts::check(steps.data(), static_cast<int64_t>(steps.size()));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCode::kInvalidArgument, error.code());
    EXPECT_NE(std::string::npos, std::string(error.what()).find(problem)) << error.what();
  }
}

TEST(ImageCuts, RandomCropsAreThoseOfTheOwnDecoding) {
  for (const double filter : {1.0, 2.0}) {
    const Steps steps = {kPlanScaling,
                         0,
                         filter,
                         kPlanRandomResizedCrop,
                         20,
                         26,
                         0.08,
                         1,
                         0.75,
                         1.25,
                         kPlanHorizontalFlip,
                         0.5,
                         kPlanVerticalFlip,
                         0.5};
    for (const char* name : {"420.jpg", "grey.jpg", "wide.jpg", "tall.jpg"}) {
      const Bytes encoded = testing::golden_image(name);
      for (int64_t index = 0; index < 20; ++index) {
        // Pillow rounds between the two axes, and there cuts off the overshoot of a cubic filter;
        // libtorch does not.
        EXPECT_LE(difference(row_of(steps, encoded, index), cut(steps, encoded, index)),
                  filter == 1 ? 1 : 4)
            << name << ' ' << index << ' ' << filter;
      }
    }
  }
}

TEST(ImageCuts, MiddlesAreCutAndPadded) {
  for (const double side : {8., 40.}) {
    const Steps middle = {kPlanCenterCrop, side, side + 3};
    const Steps scaled = {kPlanShortSide, 30, kPlanCenterCrop, side, side + 3};
    for (const char* name : {"420_odd.jpg", "wide.jpg", "one_pixel.jpg"}) {
      const Bytes encoded = testing::golden_image(name);
      EXPECT_EQ(0, difference(row_of(middle, encoded, 0), cut(middle, encoded, 0))) << name;
      EXPECT_LE(difference(row_of(scaled, encoded, 0), cut(scaled, encoded, 0)), 1) << name;
    }
  }
}

TEST(ImageCuts, FixedPartsAreCutAndPadded) {
  const Bytes encoded = testing::golden_image("420_odd.jpg");  // 47 x 61
  for (const double top : {-200., -5., 0., 50., 61.}) {
    for (const double left : {-24., -3., 20., 40., 500.}) {
      const Steps steps = {kPlanCrop, 16, 24, top, left};
      EXPECT_EQ(0, difference(row_of(steps, encoded, 0), cut(steps, encoded, 0)))
          << top << ' ' << left;
    }
  }
}

TEST(ImageCuts, ImagesAreTurned) {
  const Steps steps = {kPlanExifOrientation, kPlanCenterCrop, 16, 24};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Bytes encoded = testing::golden_image("exif_" + std::to_string(orientation) + ".jpg");
    EXPECT_EQ(0, difference(row_of(steps, encoded, 0), cut(steps, encoded, 0))) << orientation;
  }
}

const Steps kTrainingSteps = {kPlanRandomResizedCrop, 20, 26, 0.08, 1, 0.75, 1.25,
                              kPlanHorizontalFlip,    0.5};

TEST(ImageCuts, ABatchHasTheBitsOfImagesThatAreCutAlone) {
  Steps cubic = {kPlanScaling, 0, 2};
  cubic.insert(cubic.end(), kTrainingSteps.begin(), kTrainingSteps.end());
  cubic.insert(cubic.end(), {kPlanVerticalFlip, 0.5});
  const Images images =
      images_of({"420.jpg", "wide.jpg", "grey.jpg", "tall.jpg", "420_odd.jpg", "one_pixel.jpg"});
  Images floats = images;
  for (torch::Tensor& pixels : floats.pixels) {
    pixels = pixels.to(torch::kFloat);
  }
  const std::vector<Steps> all = {kTrainingSteps,
                                  cubic,
                                  {kPlanShortSide, 30, kPlanCenterCrop, 24, 28},
                                  {kPlanShortSide, 20, kPlanCenterCrop, 40, 24},
                                  {kPlanCrop, 16, 24, -5, 30},
                                  {kPlanResize, 9, 11},
                                  {kPlanResize, 61, 47}};
  for (const Steps& steps : all) {
    for (int64_t first = 0; first < 30; first += 6) {
      const torch::Tensor expected = batch_alone(steps, images, first);
      EXPECT_TRUE(torch::equal(batch_of(steps, images, first), expected)) << first;
      EXPECT_TRUE(torch::equal(batch_of(steps, floats, first), expected)) << first;
    }
  }
}

TEST(ImageCuts, ABatchStartsOneOperationForEachImage) {
  constexpr int64_t kImages = 64;
  constexpr int64_t kForTheBatch = 6;  // round, clamp, to bytes, one copy of flips, flip, choose
  Images images = images_of(std::vector<std::string>(kImages, "420.jpg"));
  int64_t alone = 0;
  {
    const StartedOperations started;
    auto unused = batch_alone(kTrainingSteps, images, 0);
    alone = started.count();
  }
  EXPECT_GT(alone, 5 * kImages);
  for (torch::Tensor& pixels : images.pixels) {
    pixels = pixels.to(torch::kFloat);
  }
  const StartedOperations started;
  auto unused = batch_of(kTrainingSteps, images, 0);
  constexpr int64_t kFilled = 1;  // the test's own rows
  EXPECT_LE(started.count(), kImages + kForTheBatch + kFilled);
  std::cout << "operations of " << kImages << " images: " << alone << " alone, "
            << started.count() - kFilled << " together\n";
}

TEST(ImageCuts, ABatchIsNormalized) {
  const Steps bytes = {kPlanResize, 9, 11};
  Steps floats = bytes;
  floats.insert(floats.end(), {kPlanNormalize, 0.485, 0.456, 0.406, 0.229, 0.224, 0.225});
  const Bytes encoded = testing::golden_image("420.jpg");
  const torch::Tensor batch = row_of(bytes, encoded, 0).unsqueeze(0);
  const auto finish = [&](const Steps& steps) {
    const uint8_t flips = 0;
    return ImageCuts::finish(steps.data(), numbers_of(steps), batch.to(torch::kFloat), &flips);
  };
  EXPECT_TRUE(torch::equal(finish(bytes), batch));
  EXPECT_TRUE(torch::equal(finish(floats)[0], row_of(floats, encoded, 0)));
}

TEST(ImageCuts, TheCpuDecodesAnyImageBeforeItIsNormalized) {
  Steps floats = kTrainingSteps;
  floats.insert(floats.end(), {kPlanNormalize, 0.485, 0.456, 0.406, 0.229, 0.224, 0.225});
  for (const char* name : {"rgb.png", "cmyk.jpg", "420.jpg"}) {
    const Bytes encoded = testing::golden_image(name);
    for (int64_t index = 0; index < 8; ++index) {
      const torch::Tensor row =
          ImageCuts::decoded(floats.data(), numbers_of(floats), encoded.data(),
                             static_cast<int64_t>(encoded.size()), kSeed, kEpoch, index);
      EXPECT_TRUE(torch::equal(row, row_of(kTrainingSteps, encoded, index))) << name << index;
      const uint8_t flips = 0;
      EXPECT_TRUE(torch::equal(ImageCuts::finish(floats.data(), numbers_of(floats),
                                                 row.to(torch::kFloat).unsqueeze(0), &flips)[0],
                               row_of(floats, encoded, index)));
    }
  }
  const uint8_t nothing = 0;
  EXPECT_THROW(
      auto unused = ImageCuts::decoded(floats.data(), numbers_of(floats), &nothing, 1, 0, 0, 0),
      Error);
}

TEST(ImageCuts, OnlyAPlanThatFollowsOrientationsTurns) {
  const Steps turned = {kPlanExifOrientation, kPlanResize, 9, 11};
  EXPECT_TRUE(ImageCuts::turns(turned.data(), numbers_of(turned)));
  EXPECT_FALSE(ImageCuts::turns(turned.data() + 1, numbers_of(turned) - 1));
}

TEST(ImageCuts, OtherStepsAreRefused) {
  const Steps size = {kPlanResize, 9, 11};
  const auto with = [&](const Steps& more) {
    Steps steps = size;
    steps.insert(steps.end(), more.begin(), more.end());
    return steps;
  };
  expect_refused(with({kPlanRandAugment, 2, 9, 31}), "a step that changes colors, blurs or erases");
  expect_refused(with({kPlanHorizontalFlip, 0.5, kPlanTrivialAugmentWide, 31}), "changes colors");
  expect_refused(with({kPlanRandomErasingToZero, 0, 0.1, 0.2, 1, 1}), "changes colors");
  expect_refused({kPlanScaling, 0, 3, kPlanResize, 9, 11}, "bilinear or bicubic");
  expect_refused({kPlanScaling, 3, 1, kPlanResize, 9, 11}, "must be antialiased here");
  ImageCuts::check(size.data(), static_cast<int64_t>(size.size()));
}

TEST(ImageCuts, TensorsOfAnotherShapeAreRefused) {
  const Steps size = {kPlanResize, 9, 11};
  const torch::Tensor good = torch::zeros({3, 4, 4}, torch::kByte);
  const torch::Tensor rows = torch::zeros({2, 3, 9, 11});
  const auto refuses = [&](const torch::Tensor& pixels, const torch::Tensor& into, int64_t row) {
    EXPECT_THROW(ImageCuts::cut(size.data(), 3, nullptr, 0, 0, 0, 0, pixels, into, row), Error);
  };
  for (const auto& pixels : {torch::zeros({3, 4, 4}, torch::kDouble),
                             torch::zeros({4, 4, 4}, torch::kByte), torch::zeros({4, 4})}) {
    refuses(pixels, rows, 0);
  }
  refuses(good, rows, 2);
  refuses(good, rows, -1);
  refuses(good, rows[0], 0);
  refuses(good, torch::zeros({2, 3, 11, 9}), 0);
  refuses(good, torch::zeros({2, 3, 9, 11}, torch::kByte), 0);
  EXPECT_EQ(0, ImageCuts::cut(size.data(), 3, nullptr, 0, 0, 0, 0, good, rows, 1));
}

}  // namespace
}  // namespace torchfeed
