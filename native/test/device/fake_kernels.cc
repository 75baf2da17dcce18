// SPDX-License-Identifier: Apache-2.0
// The operations of the fake devices other than copies: on the host, so that models can be trained.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceType.h>
#include <torch/library.h>

#include "device/fake_device.h"

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

}  // namespace torchfeed::fake
