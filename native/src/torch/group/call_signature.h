// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace torchfeed::detail {

/// The operations that the ranks compare before they perform one.
enum class Operation : int64_t {
  kRefused = -1,
  kBarrier,
  kAllReduce,
  kBroadcast,
  kReduce,
  kAllGather,
  kGather,
  kScatter,
  kReduceScatter,
  kAllToAll,
  kExchangeBytes,
  kSend,
};

/// The properties that must be equal on all ranks that call a collective operation, as numbers that
/// can be sent.
class CallSignature {
 public:
  static constexpr int64_t kHeaderWords = 8;
  static constexpr int64_t kMaxDimensions = 12;
  static constexpr int64_t kWords = kHeaderWords + kMaxDimensions;

  explicit CallSignature(Operation operation) { words_[0] = static_cast<int64_t>(operation); }
  CallSignature& op(int32_t op);
  CallSignature& root(int64_t root);
  /// Adds shapes and dtypes of at least one tensor, all of them checked.
  CallSignature& tensors(const std::vector<at::Tensor>& tensors);
  /// Adds whether the tensors are sent from device to device rather than from host to host.
  CallSignature& between_devices(bool between_devices);

  [[nodiscard]] at::Tensor words() const;
  [[nodiscard]] static std::string describe(const int64_t* words);
  /// Returns the bytes of the one tensor that the words describe.
  [[nodiscard]] static int64_t bytes(const int64_t* words);

 private:
  std::array<int64_t, kWords> words_{};
};

[[noreturn]] void refuse(const std::string& message);
/// Returns the message with which `check` fails; empty if it succeeds.
[[nodiscard]] std::string refusal_by(const std::function<void()>& check);
void check_tensor(const at::Tensor& tensor);
/// Checks that all of them are on one device.
void check_one_device(const std::vector<at::Tensor>& tensors);
/// Checks each, and that all of them have one dtype and are on one device.
void check_tensors(const std::vector<at::Tensor>& tensors);
/// Refuses expanded tensors, whose elements share memory; other overlaps are not found.
void check_written(const std::vector<at::Tensor>& tensors);
void check_reducible(const at::Tensor& tensor, int32_t op);
void check_rank(const char* name, int64_t rank, int64_t world_size);

}  // namespace torchfeed::detail
