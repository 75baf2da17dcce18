// SPDX-License-Identifier: Apache-2.0
#include "torch/device/device_ring.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr auto kPause = std::chrono::microseconds(50);
constexpr auto kClosePatience = std::chrono::milliseconds(500);

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

}  // namespace

int64_t DeviceRing::checked_slots(int64_t slots) {
  constexpr int64_t kMaxSlots = 1024;
  if (slots < 2 || slots > kMaxSlots) {
    throw Error(ErrorCode::kInvalidArgument, "slots must be in [2, " + std::to_string(kMaxSlots) +
                                                 "], got " + std::to_string(slots));
  }
  return slots;
}

DeviceRing::DeviceRing(const c10::Device& device, int64_t slots)
    : device_(device), stream_(own_stream(device)) {
  abandoned_slots().sweep();
  for (int64_t i = 0; i < checked_slots(slots); ++i) {
    slots_.push_back(std::make_unique<DeviceSlot>(device));
  }
}

DeviceRing::~DeviceRing() {
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

DeviceSlot& DeviceRing::free_slot() {
  abandoned_slots().sweep();
  copying();  // releases the sources of completed copies
  DeviceSlot& slot = oldest_free();
  await(slot);
  return slot;
}

std::vector<at::Tensor> DeviceRing::receive(int64_t batch) {
  copying();
  return slot_of(batch).tensors();
}

void DeviceRing::release(int64_t batch) {
  copying();
  for (const auto& slot : slots_) {
    if (slot->is_in_use() && slot->batch() == batch) {
      slot->release();
    }
  }
}

void DeviceRing::rewind() {
  for (const auto& slot : slots_) {
    if (slot->is_in_use()) {
      slot->release();
    }
  }
  interrupted_ = false;
}

int64_t DeviceRing::copying() {
  return std::count_if(slots_.begin(), slots_.end(),
                       [](const auto& slot) { return slot->is_copying(); });
}

std::chrono::nanoseconds DeviceRing::copying_time() const {
  std::chrono::nanoseconds sum{0};
  for (const auto& slot : slots_) {
    sum += slot->copying_time();
  }
  return sum;
}

DeviceSlot& DeviceRing::oldest_free() {
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

void DeviceRing::await(DeviceSlot& slot) {
  const auto begin = std::chrono::steady_clock::now();
  while (!interrupted_ && slot.is_copying()) {
    std::this_thread::sleep_for(kPause);
  }
  waited_ += std::chrono::steady_clock::now() - begin;
  if (interrupted_) {
    throw Error(ErrorCode::kIllegalState, "the transfer was interrupted");
  }
}

DeviceSlot& DeviceRing::slot_of(int64_t batch) {
  for (const auto& slot : slots_) {
    if (slot->is_in_use() && slot->batch() == batch) {
      return *slot;
    }
  }
  throw Error(ErrorCode::kIllegalState,
              "batch " + std::to_string(batch) + " is not on the device: it was released");
}

}  // namespace torchfeed
