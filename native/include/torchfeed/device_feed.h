// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/export.h"
#include "torchfeed/row_set.h"

namespace torchfeed {

/// Batches of rows that a device gathers itself from page-locked host memory, concurrently with
/// computation. Rows of less than 1 KiB are gathered by the calling thread, and sent with the row
/// numbers. Otherwise as `DeviceTransfer`. One thread at a time, except for `interrupt`.
class TORCHFEED_API DeviceFeed {
 public:
  /// Offsets of the values that `times` writes, as in `DeviceTransfer`.
  enum Time : int { kCopyingNanos, kWaitingNanos, kTimeCount };

  /// Page-locks the rows for as long as a feed over them lives.
  ///
  /// @param rows    tensors in memory, not a selection of their rows
  /// @param slots   number of batches on the device or on their way there at a time, at least 2
  /// @throws Error  of code `kInvalidArgument` if the rows are others, `kIllegalState` if the
  /// device
  ///                cannot read them
  [[nodiscard]] static std::unique_ptr<DeviceFeed> create(const RowSet& rows,
                                                          const std::string& device, int64_t slots);
  DeviceFeed(const DeviceFeed&) = delete;
  DeviceFeed& operator=(const DeviceFeed&) = delete;
  ~DeviceFeed();

  /// Starts the gathering of the rows `indices[0..count)`; returns the number of the batch.
  int64_t send(const int64_t* indices, int64_t count);
  std::vector<at::Tensor> receive(int64_t batch);
  void release(int64_t batch);
  void rewind();
  /// @param values  room for `kTimeCount` values, since the start
  void times(int64_t* values) const;
  void interrupt();

 private:
  class Impl;
  explicit DeviceFeed(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
