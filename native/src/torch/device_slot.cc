// SPDX-License-Identifier: Apache-2.0
#include "torch/device_slot.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/TensorOptions.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <utility>

namespace torchfeed {
namespace {

constexpr int64_t kAlignment = 64;

bool is_over(const c10::Event& event) {
  try {
    return event.query();
  } catch (const c10::Error&) {
    return true;  // the device has failed for good: it reads nothing any more
  }
}

}  // namespace

DeviceSlot::DeviceSlot(c10::Device device)
    : device_(device),
      copied_(device.type()),
      used_(device.type()),
      used_elsewhere_(device.type()) {}

void DeviceSlot::fill(int64_t batch, std::vector<at::Tensor> host, const c10::Stream& stream) {
  const at::NoGradGuard without_graph;
  const c10::StreamGuard on_stream(stream);
  for (at::Tensor& tensor : host) {
    tensor = tensor.contiguous();
  }
  int64_t bytes = 0;
  lay_out(host, bytes);
  ensure_memory(bytes, stream);
  sources_ = std::move(host);
  try {
    for (size_t i = 0; i < parts_.size(); ++i) {
      view(parts_[i]).copy_(sources_[i], /*non_blocking=*/true);
    }
  } catch (...) {
    copied_.record(stream);  // behind those that were started
    throw;
  }
  copied_.record(stream);
  batch_ = batch;
  out_ = true;
}

void DeviceSlot::lay_out(const std::vector<at::Tensor>& host, int64_t& bytes) {
  parts_.clear();
  for (const at::Tensor& tensor : host) {
    parts_.push_back({tensor.dtype(), tensor.sizes().vec(), bytes});
    bytes += static_cast<int64_t>(tensor.nbytes()) + kAlignment - 1;
    bytes = bytes / kAlignment * kAlignment;
  }
}

void DeviceSlot::ensure_memory(int64_t bytes, const c10::Stream& stream) {
  if (memory_.defined() && memory_.numel() >= bytes) {
    used_.block(stream);
    used_elsewhere_.block(stream);
    return;
  }
  memory_.reset();  // before there is new memory, so that the allocator may take the old
  memory_ = at::empty({bytes}, at::TensorOptions(at::kByte).device(device_));
  // The next batch goes to the same memory, whatever is done to a view.
  memory_.storage().unsafeGetStorageImpl()->set_resizable(false);
}

std::vector<at::Tensor> DeviceSlot::tensors() {
  const c10::impl::VirtualGuardImpl guard(device_.type());
  const c10::Stream current = guard.getStream(device_);
  copied_.block(current);
  // The memory is the copy stream's: when it is freed, the allocator must wait for this one too.
  guard.recordDataPtrOnStream(memory_.storage().data_ptr(), current);
  consumer_ = current;
  std::vector<at::Tensor> views;
  views.reserve(parts_.size());
  for (const Part& part : parts_) {
    views.push_back(view(part));
  }
  return views;
}

at::Tensor DeviceSlot::view(const Part& part) const {
  // Each batch has tensors of its own over the memory: a version counter that went on from batch to
  // batch would look like a write into what autograd has saved.
  const c10::DispatchKeySet keys(
      c10::computeDispatchKey(c10::typeMetaToScalarType(part.dtype), at::kStrided, device_));
  at::Tensor tensor =
      at::detail::make_tensor<c10::TensorImpl>(c10::Storage(memory_.storage()), keys, part.dtype);
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_storage_offset(part.offset / static_cast<int64_t>(part.dtype.itemsize()));
  impl->set_sizes_contiguous(part.sizes);
  return tensor;
}

void DeviceSlot::give_back() {
  out_ = false;
  if (!consumer_) {
    return;  // nobody read it: the copy stream keeps the next copy behind this one
  }
  const c10::impl::VirtualGuardImpl guard(device_.type());
  const c10::Stream received = *std::exchange(consumer_, std::nullopt);
  const c10::Stream current = guard.getStream(device_);
  if (current != received) {
    guard.recordDataPtrOnStream(memory_.storage().data_ptr(), current);
    used_elsewhere_.record(current);
  }
  used_.record(received);
  // Decided now: a tensor that is kept may yet be read, and be gone before the next copy.
  if (memory_.storage().use_count() > 1) {
    memory_.reset();
  }
}

bool DeviceSlot::is_copying() {
  if (!sources_.empty() && is_over(copied_)) {
    sources_.clear();
  }
  return !sources_.empty();
}

}  // namespace torchfeed
