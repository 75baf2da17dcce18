// SPDX-License-Identifier: Apache-2.0
#include "torch/base/device.h"

#include <ATen/DeviceAccelerator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include "torchfeed/error.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

c10::Device parsed(const std::string& name) {
  try {
    return c10::Device(name);
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kInvalidArgument, "device must be a name like cuda:0, got '" + name +
                                                 "': " + error.what_without_backtrace());
  }
}

[[noreturn]] void refuse_missing(const std::string& name, const std::string& reason) {
  throw Error(ErrorCode::kIllegalState, "device " + name + ": " + reason);
}

[[noreturn]] void refuse_missing_cuda(const std::string& name, const std::string& obstacle) {
  refuse_missing(name, obstacle +
                           "; replace org.bytedeco:pytorch with the artifact that has a GPU "
                           "classifier (linux-x86_64-gpu), and provide CUDA's libraries; "
                           "org.bytedeco:cuda-redist has only some of them");
}

}  // namespace

c10::Device usable_device(const std::string& name) {
  const c10::Device device = parsed(name);
  if (device.is_cpu()) {
    throw Error(ErrorCode::kInvalidArgument, "device cpu: host tensors need no transfer to it");
  }
  const std::string type = c10::DeviceTypeName(device.type(), true);
  if (device.is_cuda()) {
    // A device guard is registered even if libtorch's library for CUDA could not be loaded.
    if (const std::string obstacle = cuda_obstacle(); !obstacle.empty()) {
      refuse_missing_cuda(name, obstacle);
    }
  }
  if (!c10::impl::hasDeviceGuardImpl(device.type())) {
    refuse_missing(name, "this libtorch has no " + type);
  }
  const c10::impl::VirtualGuardImpl guard(device.type());
  const int count = guard.deviceCount();
  if (count == 0) {
    refuse_missing(name, "libtorch sees no " + type + " device; check the hardware and its driver");
  }
  if (device.index() >= count) {
    throw Error(ErrorCode::kInvalidArgument,
                "device " + name + ": the index must be in [0, " + std::to_string(count) + ")");
  }
  return device.has_index() ? device : guard.getDevice();
}

void enter_device(c10::Device device) {
  c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
}

std::optional<c10::Stream> current_stream(std::optional<c10::Device> device) {
  if (device) {
    return device->is_cpu()
               ? std::nullopt
               : std::optional(c10::impl::VirtualGuardImpl(device->type()).getStream(*device));
  }
  const auto type = at::getAccelerator(/*checked=*/false);
  if (!type || !c10::impl::hasDeviceGuardImpl(*type)) {
    return std::nullopt;
  }
  const c10::impl::VirtualGuardImpl guard(*type);
  if (guard.deviceCount() == 0) {
    return std::nullopt;
  }
  return guard.getStream(guard.getDevice());
}

}  // namespace torchfeed
