// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/fake_device.h"
#include "torchfeed/device_transfer.h"
#include "torchfeed/error.h"
#include "torchfeed/runtime.h"

namespace torchfeed::testing {

using Bytes = std::vector<uint8_t>;
using Reading = std::shared_ptr<Bytes>;

constexpr const char* kDevice = "privateuseone:0";

inline Bytes bytes_of(const at::Tensor& tensor) {
  const auto* data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  return {data, data + tensor.nbytes()};
}

inline std::vector<at::Tensor> batch(int64_t number, int64_t rows = 8) {
  return {torch::full({rows, 3}, static_cast<float>(number)),
          torch::arange(rows, torch::kInt64) + 1000 * number};
}

class Transfers : public ::testing::Test {
 protected:
  ~Transfers() override {
    fake::fail_after(-1);
    fake::run_all();
    static_cast<void>(DeviceTransfer::create(kDevice, 2));  // sweeps abandoned slots
    fake::run_all();
    EXPECT_EQ(fake::device_blocks(), 0);
    EXPECT_EQ(fake::host_blocks(), 0);
    EXPECT_EQ(live_objects(), 0);
  }

  static c10::Stream compute() { return fake::current_stream(0); }
  /// Executes the work of all streams but the consumer's.
  static void run_copies() {
    for (const auto& stream : fake::busy_streams(compute())) {
      fake::run(stream);
    }
  }
};

inline void expect_refused(ErrorCode code, const std::string& phrase,
                           const std::function<void()>& call) {
  try {
    call();
    FAIL() << "accepted; expected: " << phrase;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(phrase), std::string::npos) << error.what();
  }
}

}  // namespace torchfeed::testing
