// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/device_transfer.h"

#include <cstddef>
#include <string>
#include <utility>

#include "torch/base/device.h"
#include "torch/base/guard.h"
#include "torch/base/live_count.h"
#include "torch/device/device_ring.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

void check_host(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "a batch needs at least one tensor");
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    const bool dense = tensor.defined() && tensor.layout() == at::kStrided &&
                       tensor.device().is_cpu() && !tensor.is_quantized() && !tensor.is_conj() &&
                       !tensor.is_neg();
    if (!dense) {
      throw Error(ErrorCode::kInvalidArgument,
                  "tensor " + std::to_string(i) +
                      " must be a dense CPU tensor that is neither quantized nor lazily "
                      "conjugated or negated");
    }
  }
}

}  // namespace

class DeviceTransfer::Impl {
 public:
  Impl(const c10::Device& device, int64_t slots) : ring(device, slots) {}

 private:
  const LiveCount live_;

 public:
  DeviceRing ring;
};

DeviceTransfer::DeviceTransfer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

DeviceTransfer::~DeviceTransfer() = default;

std::unique_ptr<DeviceTransfer> DeviceTransfer::create(const std::string& device, int64_t slots) {
  return guarded([&] {
    const int64_t checked = DeviceRing::checked_slots(slots);  // wrong on any machine
    return std::unique_ptr<DeviceTransfer>(
        new DeviceTransfer(std::make_unique<Impl>(usable_device(device), checked)));
  });
}

std::string DeviceTransfer::device() const { return impl_->ring.device().str(); }

int64_t DeviceTransfer::send(const std::vector<at::Tensor>& tensors) {
  return guarded([&] {
    check_host(tensors);
    return impl_->ring.send([&](DeviceSlot& slot, int64_t batch, const c10::Stream& stream) {
      slot.fill(batch, tensors, stream);
    });
  });
}

std::vector<at::Tensor> DeviceTransfer::receive(int64_t batch) {
  return guarded([&] { return impl_->ring.receive(batch); });
}

void DeviceTransfer::release(int64_t batch) {
  guarded([&] { impl_->ring.release(batch); });
}

void DeviceTransfer::rewind() {
  guarded([&] { impl_->ring.rewind(); });
}

int64_t DeviceTransfer::copying() {
  return guarded([&] { return impl_->ring.copying(); });
}

void DeviceTransfer::times(int64_t* values) const {
  values[kCopyingNanos] = impl_->ring.copying_time().count();
  values[kWaitingNanos] = impl_->ring.waiting_time().count();
}

void DeviceTransfer::interrupt() { impl_->ring.interrupt(); }

}  // namespace torchfeed
