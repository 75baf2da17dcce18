// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/export.h"

namespace torchfeed {

/// Copies batches of host tensors to one device, on its own stream, concurrently with computation.
///
/// Device memory is a ring with one slot per batch. The consumer's stream waits for the copy, and
/// the copy waits for the consumer's last use of the slot; both are stream waits. The host waits
/// only in `send`, while the slot's previous copy is still running: it is then a whole ring ahead
/// of the device. Host tensors are held until their copy has completed. Device memory that is still
/// referenced by a tensor of the consumer leaves the ring. One thread at a time, except for
/// `interrupt`, which is thread-safe.
class TORCHFEED_API DeviceTransfer {
 public:
  /// Offsets of the values that `times` writes: how long copies have occupied the copy stream, by
  /// the device's clock, of the batches whose copy is known to be over; and how long `send` has
  /// waited for a slot. In nanoseconds; the former is 0 if the device's events have no times. Of
  /// batches of less than 4 MiB, the first of each eight is timed, and stands for all eight.
  enum Time : int { kCopyingNanos, kWaitingNanos, kTimeCount };

  /// @param device  for example `cuda:0`; without an index, the current device of that type
  /// @param slots   number of batches on the device or on their way there at a time, at least 2
  [[nodiscard]] static std::unique_ptr<DeviceTransfer> create(const std::string& device,
                                                              int64_t slots);
  DeviceTransfer(const DeviceTransfer&) = delete;
  DeviceTransfer& operator=(const DeviceTransfer&) = delete;
  /// Waits at most half a second for copies in flight; their sources are kept until they complete.
  ~DeviceTransfer();

  /// Returns the name of the device, with its index.
  [[nodiscard]] std::string device() const;
  /// Starts the copy of a batch and returns its number. Only page-locked memory is copied
  /// asynchronously; any other copy blocks the caller. Throws `kIllegalState` if no slot is free,
  /// or after `interrupt`.
  ///
  /// @param tensors  dense CPU tensors; held, and must not be written, until the copy completes
  int64_t send(const std::vector<at::Tensor>& tensors);
  /// Returns the batch on the device: work that the calling thread subsequently enqueues on its
  /// current stream runs after the copy.
  std::vector<at::Tensor> receive(int64_t batch);
  /// Releases the slot of a batch: the next copy into it runs after the work enqueued so far on the
  /// stream of `receive` and on the calling thread's current stream. No effect for a batch that was
  /// already released.
  void release(int64_t batch);
  /// Releases every slot and ends an `interrupt`.
  void rewind();
  /// Returns the number of batches whose host tensors are still held.
  int64_t copying();
  /// @param values  room for `kTimeCount` values, since the start
  void times(int64_t* values) const;
  /// Makes a waiting `send` and all later ones fail, until `rewind`. Thread-safe.
  void interrupt();

 private:
  class Impl;
  explicit DeviceTransfer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
