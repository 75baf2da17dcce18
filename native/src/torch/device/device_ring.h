// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "torch/device/device_slot.h"

namespace torchfeed {

/// The slots of a device that batches are sent to in turn, on a stream of their own. One thread at
/// a time, except for `interrupt`, which is thread-safe.
class DeviceRing {
 public:
  /// Returns the number of slots if it is in its range, else throws kInvalidArgument.
  [[nodiscard]] static int64_t checked_slots(int64_t slots);

  /// @param slots  in [2, 1024]
  DeviceRing(const c10::Device& device, int64_t slots);
  DeviceRing(const DeviceRing&) = delete;
  DeviceRing& operator=(const DeviceRing&) = delete;
  /// Waits at most half a second for copies in flight; their sources are kept until they complete.
  ~DeviceRing();

  [[nodiscard]] const c10::Device& device() const { return device_; }

  /// Waits for a slot and fills it by `fill(slot, batch, stream)`; returns the number of the batch.
  template <class Fill>
  int64_t send(const Fill& fill) {
    fill(free_slot(), next_, stream_);
    return next_++;
  }
  std::vector<at::Tensor> receive(int64_t batch);
  void release(int64_t batch);
  void rewind();
  int64_t copying();
  /// Returns the time, by the device's clock, that copies known to be over have taken.
  [[nodiscard]] std::chrono::nanoseconds copying_time() const;
  /// Returns the time that `send` has waited for a slot.
  [[nodiscard]] std::chrono::nanoseconds waiting_time() const { return waited_; }
  void interrupt() { interrupted_ = true; }

 private:
  DeviceSlot& free_slot();
  DeviceSlot& oldest_free();
  void await(DeviceSlot& slot);
  DeviceSlot& slot_of(int64_t batch);

  const c10::Device device_;
  const c10::Stream stream_;
  std::vector<std::unique_ptr<DeviceSlot>> slots_;
  int64_t next_ = 0;
  std::chrono::nanoseconds waited_{0};
  std::atomic<bool> interrupted_{false};
};

}  // namespace torchfeed
