// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

TEST(CudaLibraries, ALibtorchForTheCpuHasNone) {
  EXPECT_EQ("this libtorch has no cuda", cuda_obstacle());
  EXPECT_EQ("this libtorch has no cuda", cuda_obstacle());
}

TEST(CudaLibraries, TheVersionOfNcclIsThatOfTheLoadedLibrary) {
  EXPECT_EQ(0, nccl_version());
  void* const library = dlopen(TORCHFEED_FAKE_NCCL, RTLD_NOW);
  ASSERT_NE(nullptr, library) << dlerror();
  EXPECT_EQ(21906, nccl_version());
  EXPECT_EQ(0, dlclose(library));
  EXPECT_EQ(0, nccl_version());
}

}  // namespace
}  // namespace torchfeed
