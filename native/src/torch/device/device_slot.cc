// SPDX-License-Identifier: Apache-2.0
#include "torch/device/device_slot.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/TensorOptions.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <utility>

namespace torchfeed {
namespace {

constexpr int64_t kTensorAlignment = 64;

constexpr int64_t kMaxGaps = 4096;  // bytes that are cheaper to copy than to begin another copy

// Timing takes the host some microseconds, as much as starting the copy of a small batch: of small
// batches, one in some is timed, and stands for the others.
constexpr int64_t kAllTimed = int64_t{4} << 20;
constexpr int64_t kOneTimedOf = 8;

int64_t aligned(int64_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

bool is_over(const c10::Event& event) {
  try {
    return event.query();
  } catch (const c10::Error&) {
    return true;  // the device has failed permanently: it reads nothing any more
  }
}

const std::byte* address(const at::Tensor& tensor) {
  return static_cast<const std::byte*>(tensor.const_data_ptr());
}

/// Returns the memory from the first of several tensors to the end of the last, as bytes, if it has
/// hardly any others and is aligned like the memory of a slot; otherwise an undefined tensor.
at::Tensor common_block(const std::vector<at::Tensor>& tensors) {
  int64_t used = 0;
  int64_t end = 0;  // from the address of the first
  for (const at::Tensor& tensor : tensors) {
    const int64_t begin = address(tensor) - address(tensors[0]);
    const auto bytes = static_cast<int64_t>(tensor.nbytes());
    if (!tensor.storage().is_alias_of(tensors[0].storage()) || bytes == 0 || begin < end ||
        begin % kTensorAlignment != 0) {
      return {};
    }
    used += bytes;
    end = begin + bytes;
  }
  if (tensors.size() < 2 || end - used > kMaxGaps) {
    return {};
  }
  const at::Tensor& first = tensors[0];
  return at::empty({0}, at::kByte)
      .set_(first.storage(), first.storage_offset() * first.element_size(), {end}, {1});
}

/// Returns zero for a device whose events have no times.
std::chrono::nanoseconds time_between(const c10::Event& begin, const c10::Event& end) {
  try {
    const std::chrono::duration<double, std::milli> time(begin.elapsedTime(end));
    return std::chrono::round<std::chrono::nanoseconds>(time);
  } catch (const c10::Error&) {
    return {};
  }
}

}  // namespace

DeviceSlot::DeviceSlot(c10::Device device)
    : device_(device),
      begun_(device.type(), c10::EventFlag::BACKEND_DEFAULT),
      copied_(device.type(), c10::EventFlag::BACKEND_DEFAULT),
      used_(device.type()),
      used_elsewhere_(device.type()) {}

void DeviceSlot::fill(int64_t batch, std::vector<at::Tensor> host, const c10::Stream& stream) {
  const at::NoGradGuard without_graph;
  const c10::StreamGuard on_stream(stream);
  for (at::Tensor& tensor : host) {
    tensor = tensor.contiguous();
  }
  int64_t bytes = 0;
  parts_.clear();
  const at::Tensor block = common_block(host);
  for (const at::Tensor& tensor : host) {
    if (block.defined()) {
      bytes = address(tensor) - address(block);
    }
    place(tensor.dtype(), tensor.sizes().vec(), bytes);
  }
  ensure_memory(bytes, stream);
  sources_ = std::move(host);
  begin(
      batch,
      [this, &block] {
        if (block.defined()) {
          view({block.dtype(), block.sizes().vec(), 0}).copy_(block, /*non_blocking=*/true);
          return;
        }
        for (size_t i = 0; i < parts_.size(); ++i) {
          view(parts_[i]).copy_(sources_[i], /*non_blocking=*/true);
        }
      },
      stream);
}

void DeviceSlot::gather(int64_t batch, at::Tensor staged, std::vector<DeviceColumn> columns,
                        const c10::Stream& stream) {
  const at::NoGradGuard without_graph;
  const c10::StreamGuard on_stream(stream);
  int64_t bytes = aligned(staged.numel());
  parts_.clear();
  for (DeviceColumn& column : columns) {
    if (column.rows.defined()) {
      place(column.dtype, std::move(column.sizes), bytes);
    } else {
      parts_.push_back({column.dtype, std::move(column.sizes), column.offset});
    }
  }
  ensure_memory(bytes, stream);
  sources_ = {staged};
  for (const DeviceColumn& column : columns) {
    sources_.push_back(column.rows);
  }
  begin(
      batch,
      [&] {
        view({at::scalarTypeToTypeMeta(at::kByte), {staged.numel()}, 0})
            .copy_(staged, /*non_blocking=*/true);
        for (size_t i = 0; i < columns.size(); ++i) {
          const at::Tensor& rows = columns[i].rows;
          if (rows.defined()) {
            const int64_t count = parts_[i].sizes[0];
            at::Tensor to = view({rows.dtype(), {count, rows.size(1)}, parts_[i].offset});
            at::index_select_out(to, rows, 0,
                                 view({at::scalarTypeToTypeMeta(at::kLong), {count}, 0}));
          }
        }
      },
      stream);
}

template <class Copies>
void DeviceSlot::begin(int64_t batch, const Copies& copies, const c10::Stream& stream) {
  shares_ = memory_.numel() < kAllTimed ? kOneTimedOf : 1;
  is_timed_ = batch % shares_ == 0;
  if (is_timed_) {
    begun_.record(stream);
  }
  try {
    copies();
  } catch (...) {
    copied_.record(stream);  // after the copies that were started
    throw;
  }
  copied_.record(stream);
  batch_ = batch;
  in_use_ = true;
}

void DeviceSlot::place(caffe2::TypeMeta dtype, std::vector<int64_t> sizes, int64_t& bytes) {
  int64_t size = static_cast<int64_t>(dtype.itemsize());
  for (const int64_t length : sizes) {
    size *= length;
  }
  parts_.push_back({dtype, std::move(sizes), bytes});
  bytes = aligned(bytes + size);
}

void DeviceSlot::ensure_memory(int64_t bytes, const c10::Stream& stream) {
  if (memory_.defined() && memory_.numel() >= bytes) {
    used_.block(stream);
    used_elsewhere_.block(stream);
    return;
  }
  memory_.reset();  // before allocating, so that the allocator can reuse the old memory
  memory_ = at::empty({bytes}, at::TensorOptions(at::kByte).device(device_));
  // No operation on a view may move the memory: the next batch goes there too.
  memory_.storage().unsafeGetStorageImpl()->set_resizable(false);
}

std::vector<at::Tensor> DeviceSlot::tensors() {
  const c10::impl::VirtualGuardImpl guard(device_.type());
  const c10::Stream current = guard.getStream(device_);
  copied_.block(current);
  // The memory belongs to the copy stream: once it is freed, the allocator must wait for the
  // current stream too.
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
  // Each batch gets new tensors over the memory: to autograd, a version counter shared by several
  // batches would look like a write to a saved tensor.
  const c10::DispatchKeySet keys(
      c10::computeDispatchKey(c10::typeMetaToScalarType(part.dtype), at::kStrided, device_));
  at::Tensor tensor =
      at::detail::make_tensor<c10::TensorImpl>(c10::Storage(memory_.storage()), keys, part.dtype);
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_storage_offset(part.offset / static_cast<int64_t>(part.dtype.itemsize()));
  impl->set_sizes_contiguous(part.sizes);
  return tensor;
}

void DeviceSlot::release() {
  in_use_ = false;
  if (!consumer_) {
    return;  // never received: the copy stream itself orders the next copy after this one
  }
  const c10::impl::VirtualGuardImpl guard(device_.type());
  const c10::Stream received = *std::exchange(consumer_, std::nullopt);
  const c10::Stream current = guard.getStream(device_);
  if (current != received) {
    guard.recordDataPtrOnStream(memory_.storage().data_ptr(), current);
    used_elsewhere_.record(current);
  }
  used_.record(received);
  // Decided now: a kept tensor may be read after this, and be destroyed before the next copy.
  if (memory_.storage().use_count() > 1) {
    memory_.reset();
  }
}

bool DeviceSlot::is_copying() {
  if (!sources_.empty() && is_over(copied_)) {
    sources_.clear();
    if (is_timed_) {
      copying_time_ += shares_ * time_between(begun_, copied_);
    }
  }
  return !sources_.empty();
}

}  // namespace torchfeed
