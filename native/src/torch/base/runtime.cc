// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/runtime.h"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/Version.h>
#include <ATen/ops/empty.h>
#include <torch/version.h>

#include <string_view>

#include "core/simd_level.h"
#include "torch/base/device.h"
#include "torch/base/guard.h"

namespace torchfeed {

std::string compiled_libtorch_version() { return TORCH_VERSION; }

std::string loaded_libtorch_version() {
  static constexpr std::string_view kKey = "TORCH_VERSION=";
  const std::string config = at::show_config();
  const size_t key = config.find(kKey);
  if (key == std::string::npos) {
    return "unknown";
  }
  const size_t begin = key + kKey.size();
  return config.substr(begin, config.find_first_of(", \n", begin) - begin);
}

std::string compiler_version() { return __VERSION__; }

std::string vector_instructions() { return described_simd_level(); }

int64_t accelerator_count() {
  return guarded([] { return static_cast<int64_t>(at::accelerator::deviceCount()); });
}

std::string accelerator_name() {
  return guarded([]() -> std::string {
    const auto type = at::getAccelerator(false);
    return type ? c10::DeviceTypeName(*type, true) : "none";
  });
}

std::string device_name(const std::string& name) {
  return guarded([&] { return usable_device(name).str(); });
}

std::string pinning_obstacle() {
  try {
    return guarded([]() -> std::string {
      if (at::accelerator::deviceCount() == 0) {
        return "this libtorch sees no accelerator device";
      }
      const at::Tensor probe = at::empty({64}, at::TensorOptions(at::kByte).pinned_memory(true));
      return probe.is_pinned() ? "" : "libtorch returned memory that is not page-locked";
    });
  } catch (const Error& error) {
    return error.message();
  }
}

}  // namespace torchfeed
