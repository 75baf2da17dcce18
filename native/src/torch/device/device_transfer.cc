// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/device_transfer.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>

#include "torch/base/device.h"
#include "torch/base/guard.h"
#include "torch/base/live_count.h"
#include "torch/device/device_slot.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr auto kPause = std::chrono::microseconds(50);
constexpr auto kClosePatience = std::chrono::milliseconds(500);
constexpr int64_t kMaxSlots = 1024;

/// The slots of closed transfers whose copies had not completed in time.
class AbandonedSlots {
 public:
  void add(std::unique_ptr<DeviceSlot> slot) {
    const std::lock_guard<std::mutex> lock(mutex_);
    slots_.push_back(std::move(slot));
  }

  void sweep() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(slots_, [](const auto& slot) { return !slot->is_copying(); });
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceSlot>> slots_;
};

/// Never destroyed: at process exit the device's runtime may already be gone.
AbandonedSlots& abandoned_slots() {
  static AbandonedSlots& slots = *std::make_unique<AbandonedSlots>().release();
  return slots;
}

c10::Stream own_stream(const c10::Device& device) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  try {
    c10::Stream stream = guard.getStreamFromGlobalPool(device);
    c10::Event(device.type()).record(stream);
    return stream;
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kIllegalState,
                "device " + device.str() +
                    " has no streams with events: " + error.what_without_backtrace());
  }
}

void check_slots(int64_t slots) {
  if (slots < 2 || slots > kMaxSlots) {
    throw Error(ErrorCode::kInvalidArgument, "slots must be in [2, " + std::to_string(kMaxSlots) +
                                                 "], got " + std::to_string(slots));
  }
}

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
  Impl(const c10::Device& device, int64_t slots) : device_(device), stream_(own_stream(device)) {
    abandoned_slots().sweep();
    for (int64_t i = 0; i < slots; ++i) {
      slots_.push_back(std::make_unique<DeviceSlot>(device));
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    const auto end = std::chrono::steady_clock::now() + kClosePatience;
    while (copying() > 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kPause);
    }
    for (auto& slot : slots_) {
      if (slot->is_copying()) {
        abandoned_slots().add(std::move(slot));
      }
    }
  }

  [[nodiscard]] std::string device() const { return device_.str(); }

  int64_t send(const std::vector<at::Tensor>& tensors) {
    check_host(tensors);
    abandoned_slots().sweep();
    copying();  // releases the sources of completed copies
    DeviceSlot& slot = oldest_free();
    await(slot);
    slot.fill(next_, tensors, stream_);
    return next_++;
  }

  std::vector<at::Tensor> receive(int64_t batch) {
    copying();
    return slot_of(batch).tensors();
  }

  void release(int64_t batch) {
    copying();
    for (const auto& slot : slots_) {
      if (slot->is_in_use() && slot->batch() == batch) {
        slot->release();
      }
    }
  }

  void rewind() {
    for (const auto& slot : slots_) {
      if (slot->is_in_use()) {
        slot->release();
      }
    }
    interrupted_ = false;
  }

  int64_t copying() {
    return std::count_if(slots_.begin(), slots_.end(),
                         [](const auto& slot) { return slot->is_copying(); });
  }

  void interrupt() { interrupted_ = true; }

 private:
  DeviceSlot& oldest_free() {
    DeviceSlot* oldest = nullptr;
    for (const auto& slot : slots_) {
      if (!slot->is_in_use() && (oldest == nullptr || slot->batch() < oldest->batch())) {
        oldest = slot.get();
      }
    }
    if (oldest == nullptr) {
      throw Error(ErrorCode::kIllegalState,
                  "all " + std::to_string(slots_.size()) +
                      " slots of the transfer are in use: close a batch first, or use more slots");
    }
    return *oldest;
  }

  void await(DeviceSlot& slot) {
    while (true) {
      if (interrupted_) {
        throw Error(ErrorCode::kIllegalState, "the transfer was interrupted");
      }
      if (!slot.is_copying()) {
        return;
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  DeviceSlot& slot_of(int64_t batch) {
    for (const auto& slot : slots_) {
      if (slot->is_in_use() && slot->batch() == batch) {
        return *slot;
      }
    }
    throw Error(ErrorCode::kIllegalState,
                "batch " + std::to_string(batch) + " is not on the device: it was released");
  }

  const LiveCount live_;
  const c10::Device device_;
  const c10::Stream stream_;
  std::vector<std::unique_ptr<DeviceSlot>> slots_;
  int64_t next_ = 0;
  std::atomic<bool> interrupted_{false};
};

DeviceTransfer::DeviceTransfer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

DeviceTransfer::~DeviceTransfer() = default;

std::unique_ptr<DeviceTransfer> DeviceTransfer::create(const std::string& device, int64_t slots) {
  return guarded([&] {
    check_slots(slots);
    return std::unique_ptr<DeviceTransfer>(
        new DeviceTransfer(std::make_unique<Impl>(usable_device(device), slots)));
  });
}

std::string DeviceTransfer::device() const { return impl_->device(); }

int64_t DeviceTransfer::send(const std::vector<at::Tensor>& tensors) {
  return guarded([&] { return impl_->send(tensors); });
}

std::vector<at::Tensor> DeviceTransfer::receive(int64_t batch) {
  return guarded([&] { return impl_->receive(batch); });
}

void DeviceTransfer::release(int64_t batch) {
  guarded([&] { impl_->release(batch); });
}

void DeviceTransfer::rewind() {
  guarded([&] { impl_->rewind(); });
}

int64_t DeviceTransfer::copying() {
  return guarded([&] { return impl_->copying(); });
}

void DeviceTransfer::interrupt() { impl_->interrupt(); }

}  // namespace torchfeed
