// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/image_cuts.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdint>
#include <cstdlib>
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

torch::Tensor cut(const Steps& steps, const Bytes& encoded, int64_t index) {
  return ImageCuts::cut(steps.data(), static_cast<int64_t>(steps.size()), encoded.data(),
                        static_cast<int64_t>(encoded.size()), kSeed, kEpoch, index, whole(encoded));
}

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

TEST(ImageCuts, ABatchIsNormalized) {
  const Steps bytes = {kPlanResize, 9, 11};
  Steps floats = bytes;
  floats.insert(floats.end(), {kPlanNormalize, 0.485, 0.456, 0.406, 0.229, 0.224, 0.225});
  const Bytes encoded = testing::golden_image("420.jpg");
  const torch::Tensor batch = row_of(bytes, encoded, 0).unsqueeze(0);
  const auto finish = [&](const Steps& steps) {
    return ImageCuts::finish(steps.data(), static_cast<int64_t>(steps.size()), batch);
  };
  EXPECT_TRUE(finish(bytes).is_same(batch));
  EXPECT_TRUE(torch::equal(finish(floats)[0], row_of(floats, encoded, 0)));
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

TEST(ImageCuts, PixelsOfAnotherShapeAreRefused) {
  const Steps size = {kPlanResize, 9, 11};
  const Bytes encoded = testing::golden_image("420.jpg");
  for (const auto& pixels : {torch::zeros({3, 4, 4}), torch::zeros({4, 4, 4}, torch::kByte),
                             torch::zeros({4, 4}, torch::kByte)}) {
    EXPECT_THROW(auto unused = ImageCuts::cut(size.data(), 3, encoded.data(), 0, 0, 0, 0, pixels),
                 Error);
  }
}

}  // namespace
}  // namespace torchfeed
