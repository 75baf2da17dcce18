// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/slab.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

std::vector<at::Tensor> prototypes() {
  return {at::empty({0, 3}, at::kByte), at::empty({0}, at::kLong)};
}

TEST(Slab, ColumnsAreAlignedTo64Bytes) {
  const auto slab = Slab::create(prototypes(), 5);
  EXPECT_EQ(slab->column_offset(0), 0);
  EXPECT_EQ(slab->column_bytes(0), 15);
  EXPECT_EQ(slab->column_offset(1), 64);
  EXPECT_EQ(slab->column_bytes(1), 40);
  EXPECT_EQ(slab->bytes(), 128);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(slab->data()) % 64, 0U);
}

TEST(Slab, ViewsShowWhatWasWritten) {
  const auto slab = Slab::create(prototypes(), 5);
  slab->data()[4] = 7;
  reinterpret_cast<int64_t*>(slab->data() + 64)[2] = -9;
  const at::Tensor bytes = slab->view(0, 4);
  const at::Tensor longs = slab->view(1, 3);
  EXPECT_EQ(bytes.sizes(), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(bytes[1][1].item<int64_t>(), 7);
  EXPECT_EQ(longs.sizes(), (std::vector<int64_t>{3}));
  EXPECT_EQ(longs[2].item<int64_t>(), -9);
}

TEST(Slab, ViewsInAReusedVectorKeepTheirAddresses) {
  const auto slab = Slab::create(prototypes(), 5);
  std::vector<at::Tensor> views;
  slab->view_all(5, views);
  const at::Tensor* const first = views.data();
  for (int64_t rows = 5; rows > 0; --rows) {
    views.clear();
    slab->view_all(rows, views);
    ASSERT_EQ(views.data(), first);
    ASSERT_EQ(views.size(), 2U);
    EXPECT_EQ(views[1].size(0), rows);
  }
}

TEST(Slab, IsFreeOnlyWhenNothingViewsIt) {
  const auto slab = Slab::create(prototypes(), 5);
  EXPECT_TRUE(slab->is_free());
  at::Tensor part = slab->view(0, 5).slice(0, 1, 2);
  EXPECT_FALSE(slab->is_free());
  std::thread([&part] { part.reset(); }).join();
  EXPECT_TRUE(slab->is_free());
}

TEST(Slab, AViewCannotMoveItsMemory) {
  const auto slab = Slab::create(prototypes(), 5);
  const uint8_t* memory = slab->data();
  at::Tensor view = slab->view(0, 5);
  EXPECT_THROW(view.resize_({1000, 3}), c10::Error);
  EXPECT_EQ(slab->data(), memory);
}

TEST(Slab, ViewsOutliveIt) {
  auto slab = Slab::create(prototypes(), 5);
  slab->data()[0] = 3;
  const at::Tensor view = slab->view(0, 1);
  slab.reset();
  EXPECT_EQ(view[0][0].item<int64_t>(), 3);
}

/// Enough rows that a slab takes its memory straight from the operating system.
constexpr int64_t kManyRows = 5'000'000;

TEST(Slab, ALargeSlabInPagesBehavesTheSame) {
  auto slab = Slab::create(prototypes(), kManyRows);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(slab->data()) % (2U << 20), 0U);
  const int64_t bytes = slab->bytes();
  slab->data()[0] = 3;
  slab->data()[bytes - 1] = 1;
  at::Tensor view = slab->view(1, kManyRows);
  EXPECT_FALSE(slab->is_free());
  EXPECT_THROW(view.resize_({kManyRows + 1}), c10::Error);
  view = slab->view(0, 1);
  slab.reset();
  EXPECT_EQ(view[0][0].item<int64_t>(), 3);
}

TEST(Slab, ReportsThatMemoryIsExhausted) {
  try {
    static_cast<void>(Slab::create(prototypes(), int64_t{1} << 50));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  }
}

TEST(Slab, RefusesInvalidSizesAndColumns) {
  EXPECT_THROW(static_cast<void>(Slab::create({}, 5)), Error);
  EXPECT_THROW(static_cast<void>(Slab::create(prototypes(), 0)), Error);
  EXPECT_THROW(static_cast<void>(Slab::create({at::Tensor()}, 1)), Error);
  EXPECT_THROW(static_cast<void>(Slab::create(prototypes(), std::numeric_limits<int64_t>::max())),
               Error);
  const auto slab = Slab::create(prototypes(), 5);
  EXPECT_THROW(static_cast<void>(slab->view(2, 1)), Error);
  EXPECT_THROW(static_cast<void>(slab->view(0, 6)), Error);
  EXPECT_THROW(static_cast<void>(slab->column_offset(-1)), Error);
}

}  // namespace
}  // namespace torchfeed
