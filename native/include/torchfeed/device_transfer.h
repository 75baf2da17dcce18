// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/export.h"

namespace torchfeed {

/// Copies batches of host tensors to one device, on a stream of its own, behind the computation.
///
/// A ring of device memory, one slot a batch. The stream of the consumer waits for the copy and the
/// copy for the consumer's last use of the slot; both are waits of streams. The host waits only in
/// `send`, while the slot's previous copy is not over: it is then a whole ring ahead of the device.
/// The host tensors are held until their copy is over. Device memory that a tensor outside still
/// refers to leaves the ring. One thread at a time, except `interrupt`, which any thread may call.
class TORCHFEED_API DeviceTransfer {
 public:
  /// @param device  for example `cuda:0`; without an index the current device of the type
  /// @param slots   batches on the device or on their way at one time, at least 2
  [[nodiscard]] static std::unique_ptr<DeviceTransfer> create(const std::string& device,
                                                              int64_t slots);
  DeviceTransfer(const DeviceTransfer&) = delete;
  DeviceTransfer& operator=(const DeviceTransfer&) = delete;
  /// Waits at most half a second for copies in flight; what they read is kept until they are over.
  ~DeviceTransfer();

  /// Name of the device, with its index.
  [[nodiscard]] std::string device() const;
  /// Starts the copy of a batch and gives its number. Only page-locked memory is copied behind the
  /// back of the caller. `kIllegalState` when no slot is free, or after `interrupt`.
  ///
  /// @param tensors  dense CPU tensors; held, and not to be written, until the copy is over
  int64_t send(const std::vector<at::Tensor>& tensors);
  /// The batch on the device: work that the calling thread enqueues on its current stream from now
  /// on comes after the copy.
  std::vector<at::Tensor> receive(int64_t batch);
  /// Gives a slot back: a copy into it comes after the work enqueued so far on the stream of
  /// `receive` and on the calling thread's current one. Silent for a batch given back before.
  void release(int64_t batch);
  /// Gives back every slot and ends an `interrupt`.
  void rewind();
  /// Batches whose host tensors are still held.
  int64_t copying();
  /// Makes a waiting `send` and those to come fail, until `rewind`. Thread-safe.
  void interrupt();

 private:
  class Impl;
  explicit DeviceTransfer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
