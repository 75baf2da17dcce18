// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace torchfeed {

/// A column of a batch that is not copied as it is.
struct DeviceColumn {
  caffe2::TypeMeta dtype;
  std::vector<int64_t> sizes;
  at::Tensor rows;     // uint8 [all rows, bytes of a row], which the device gathers; undefined if
  int64_t offset = 0;  // the column of the batch is in the staged bytes, from here on
};

/// Device memory for one batch, the host tensors being copied into it, and the events that order
/// its uses. One thread at a time.
class DeviceSlot {
 public:
  explicit DeviceSlot(c10::Device device);

  /// Returns the batch that the slot was last filled with, -1 before the first.
  [[nodiscard]] int64_t batch() const { return batch_; }
  /// Returns whether that batch has not been released yet.
  [[nodiscard]] bool is_in_use() const { return in_use_; }

  /// Accepts a batch and starts its copy on `stream`, after the last use of the memory. After an
  /// exception the slot is free again.
  void fill(int64_t batch, std::vector<at::Tensor> host, const c10::Stream& stream);
  /// Accepts a batch whose rows the device gathers itself, and starts that; otherwise as `fill`.
  ///
  /// @param staged  page-locked uint8 `[bytes]`: the int64 number of each row, then columns
  void gather(int64_t batch, at::Tensor staged, std::vector<DeviceColumn> columns,
              const c10::Stream& stream);
  /// Makes the current stream of the calling thread wait for the copy; returns the device tensors.
  std::vector<at::Tensor> tensors();
  /// Releases the batch: the next copy waits for the work that its consumer has enqueued. Memory
  /// still referenced by a tensor of the consumer is abandoned to it.
  void release();

  /// Returns whether the host tensors are still being read, and releases them if not.
  bool is_copying();
  /// Returns the time, by the device's clock, of the copies whose end `is_copying` has found.
  [[nodiscard]] std::chrono::nanoseconds copying_time() const { return copying_time_; }

 private:
  struct Part {
    caffe2::TypeMeta dtype;
    std::vector<int64_t> sizes;
    int64_t offset;
  };

  void place(caffe2::TypeMeta dtype, std::vector<int64_t> sizes, int64_t& bytes);
  template <class Copies>
  void begin(int64_t batch, const Copies& copies, const c10::Stream& stream);
  void ensure_memory(int64_t bytes, const c10::Stream& stream);
  [[nodiscard]] at::Tensor view(const Part& part) const;

  const c10::Device device_;
  int64_t batch_ = -1;
  bool in_use_ = false;
  at::Tensor memory_;
  std::vector<Part> parts_;
  std::vector<at::Tensor> sources_;      // the host tensors, while the copy may read them
  std::optional<c10::Stream> consumer_;  // the consumer's stream, once the batch is received
  c10::Event begun_;                     // with a time, as `copied_`
  c10::Event copied_;
  bool is_timed_ = false;  // whether `begun_` is of the same batch as `copied_`
  int64_t shares_ = 1;     // number of batches that it stands for
  std::chrono::nanoseconds copying_time_{0};
  c10::Event used_;
  c10::Event used_elsewhere_;
};

}  // namespace torchfeed
