// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/device_lane.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "torch/base/device.h"
#include "torch/base/guard.h"

namespace torchfeed {
namespace {

bool has_streams(const std::string& device) { return device != "cpu"; }

}  // namespace

int64_t DeviceLane::open(const std::string& device) {
  return guarded([&]() -> int64_t {
    if (!has_streams(device)) {
      return 0;
    }
    const c10::Device usable = usable_device(device);
    return c10::impl::VirtualGuardImpl(usable.type()).getStreamFromGlobalPool(usable).id();
  });
}

int64_t DeviceLane::enter(const std::string& device, int64_t stream) {
  return guarded([&]() -> int64_t {
    if (!has_streams(device)) {
      return 0;
    }
    const c10::Device usable = usable_device(device);
    return c10::impl::VirtualGuardImpl(usable.type())
        .exchangeStream(c10::Stream(c10::Stream::UNSAFE, usable, stream))
        .id();
  });
}

void DeviceLane::drain(const std::string& device) {
  guarded([&] {
    if (has_streams(device)) {
      const c10::Device usable = usable_device(device);
      c10::impl::VirtualGuardImpl(usable.type()).getStream(usable).synchronize();
    }
  });
}

void DeviceLane::share(const std::vector<at::Tensor>& tensors) {
  guarded([&] {
    for (const at::Tensor& tensor : tensors) {
      if (!tensor.is_cpu()) {
        const c10::impl::VirtualGuardImpl guard(tensor.device().type());
        guard.recordDataPtrOnStream(tensor.storage().data_ptr(), guard.getStream(tensor.device()));
      }
    }
  });
}

}  // namespace torchfeed
