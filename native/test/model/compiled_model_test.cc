// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/compiled_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <streambuf>
#include <string>

#include "torchfeed/error.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

constexpr const char* kFault = "TORCHFEED_STUB_MODEL";
constexpr const char* kLibrary = TORCHFEED_STUB_MODEL_LIBRARY;

class CompiledModelTest : public ::testing::Test {
 protected:
  CompiledModelTest() : original_(std::cerr.rdbuf(log_.rdbuf())) {}
  ~CompiledModelTest() override {
    unsetenv(kFault);
    std::cerr.rdbuf(original_);
    EXPECT_EQ(live_objects(), live_);
  }

  static std::string failure(ErrorCode code, const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      return e.message();
    }
    return "nothing was thrown";
  }

  std::ostringstream log_;
  const at::Tensor x_ = at::arange(4, at::kFloat);

 private:
  std::streambuf* const original_;
  const int64_t live_ = live_objects();
};

TEST_F(CompiledModelTest, RunsALibrary) {
  const auto model = CompiledModel::load(kLibrary);

  EXPECT_EQ(model->inputs(), 1);
  EXPECT_TRUE(at::equal(model->run({x_}).at(0), x_));
  EXPECT_EQ(log_.str(), "of another thread\n");
  EXPECT_EQ(x_.use_count(), 1);
}

TEST_F(CompiledModelTest, RefusesInputsWithTheReasonAndKeepsNoneOfThem) {
  const auto model = CompiledModel::load(kLibrary);
  const at::Tensor matrix = at::ones({2, 2});

  EXPECT_EQ(failure(ErrorCode::kInvalidArgument, [&] { (void)model->run({matrix}); }),
            "input_handles[0]: unmatched number of dimensions");
  EXPECT_EQ(matrix.storage().use_count(), 1U);
  EXPECT_EQ(failure(ErrorCode::kInvalidArgument, [&] { (void)model->run({x_, x_}); }),
            "the model takes 1 inputs, got 2");
  for (const at::Tensor& wrong : {at::Tensor(), x_.to_sparse(), x_.to(at::kMeta)}) {
    EXPECT_EQ(failure(ErrorCode::kInvalidArgument, [&] { (void)model->run({wrong}); }),
              "input 0 must be a dense tensor on the CPU");
  }
  EXPECT_EQ(log_.str(), "");
  EXPECT_TRUE(at::equal(model->run({x_}).at(0), x_));
}

TEST_F(CompiledModelTest, ReportsTheFailuresOfItsCode) {
  const auto model = CompiledModel::load(kLibrary);

  setenv(kFault, "run", 1);
  EXPECT_EQ(failure(ErrorCode::kInternal, [&] { (void)model->run({x_}); }),
            "aoti_torch_kernel() API call failed: no such kernel");
  setenv(kFault, "memory", 1);
  EXPECT_EQ(failure(ErrorCode::kOutOfMemory, [&] { (void)model->run({x_}); }),
            "aoti_torch_empty_strided() API call failed: DefaultCPUAllocator: can't allocate");
  EXPECT_EQ(x_.storage().use_count(), 1U);
}

TEST_F(CompiledModelTest, RefusesLibrariesThatItCannotRun) {
  const auto load = [](const std::string& library) {
    return failure(ErrorCode::kUnreadable, [&] { (void)CompiledModel::load(library); });
  };

  EXPECT_NE(load("/nowhere.so").find("cannot open shared object file"), std::string::npos);
  EXPECT_NE(load(TORCHFEED_OTHER_LIBRARY).find("AOTInductorModelContainer"), std::string::npos);
  setenv(kFault, "create", 1);
  EXPECT_EQ(load(kLibrary), "there is no room for its weights");
  setenv(kFault, "weights", 1);
  EXPECT_EQ(load(kLibrary), "its weights are not in its library");
  EXPECT_EQ(log_.str(), "");
}

}  // namespace
}  // namespace torchfeed
