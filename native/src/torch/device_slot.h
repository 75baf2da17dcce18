// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace torchfeed {

/// Memory on a device for one batch, what is being copied into it, and the events that order its
/// uses. One thread at a time.
class DeviceSlot {
 public:
  explicit DeviceSlot(c10::Device device);

  /// The batch it was filled with last, -1 before the first.
  [[nodiscard]] int64_t batch() const { return batch_; }
  /// Whether that batch was not given back.
  [[nodiscard]] bool is_out() const { return out_; }

  /// Takes the batch in and starts its copy on `stream`, behind the last use of the memory. After
  /// an exception the slot is free again.
  void fill(int64_t batch, std::vector<at::Tensor> host, const c10::Stream& stream);
  /// Lets the current stream of the calling thread wait for the copy; the tensors.
  std::vector<at::Tensor> tensors();
  /// Ends the batch: the next copy waits for what its consumer has enqueued. Memory that a tensor
  /// outside still refers to is left to it.
  void give_back();

  /// Whether the host tensors are still being read. Lets go of them when they are not.
  bool is_copying();

 private:
  struct Part {
    caffe2::TypeMeta dtype;
    std::vector<int64_t> sizes;
    int64_t offset;
  };

  void lay_out(const std::vector<at::Tensor>& host, int64_t& bytes);
  void ensure_memory(int64_t bytes, const c10::Stream& stream);
  [[nodiscard]] at::Tensor view(const Part& part) const;

  const c10::Device device_;
  int64_t batch_ = -1;
  bool out_ = false;
  at::Tensor memory_;
  std::vector<Part> parts_;
  std::vector<at::Tensor> sources_;      // not empty while they may be read
  std::optional<c10::Stream> consumer_;  // of the batch, once received
  c10::Event copied_;
  c10::Event used_;
  c10::Event used_elsewhere_;
};

}  // namespace torchfeed
