// SPDX-License-Identifier: Apache-2.0
// The operations of the fake devices other than copies, on the host, so that models can be trained;
// and how the devices run by themselves.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceType.h>
#include <torch/library.h>

#include <cstdint>
#include <cstdlib>

#include "device/fake_device.h"
#include "device/fake_machine.h"

namespace torchfeed::fake {
namespace {

void on_host(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  at::native::cpu_fallback(operation, stack);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, kernels) {
  kernels.fallback(torch::CppFunction::makeFromBoxedFunction<&on_host>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, kernels) {
  kernels.impl("_reshape_alias", &at::native::_reshape_alias);
  kernels.impl("view", &at::native::view);
}

/// The answers to libtorch's questions about its accelerator.
class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }
};

}  // namespace

void be_accelerator() {
  static Hooks hooks;
  at::RegisterPrivateUse1HooksInterface(&hooks);
  c10::register_privateuse1_backend("privateuseone");
}

void keep_pace(double bytes_per_second) {
  constexpr double kNanosPerSecond = 1e9;
  constexpr int64_t kNanosEach = 2500;  // as small copies of an H200 take
  machine().keep_pace({bytes_per_second / kNanosPerSecond, kNanosEach});
}

void run_by_thread(uint32_t seed) { machine().run_by_thread(seed); }

}  // namespace torchfeed::fake

/// Starts a thread that executes the work, since in a JVM no test does, or keeps the pace of
/// TORCHFEED_FAKE_DEVICE_RATE, in bytes per second. Returns JNI 1.8.
extern "C" TORCHFEED_API int32_t JNI_OnLoad(void* /*vm*/, void* /*reserved*/) {
  constexpr int32_t kJni18 = 0x00010008;
  const char* const rate = std::getenv("TORCHFEED_FAKE_DEVICE_RATE");
  if (rate == nullptr) {
    torchfeed::fake::run_by_thread(42);
  } else {
    torchfeed::fake::keep_pace(std::strtod(rate, nullptr));
  }
  return kJni18;
}
