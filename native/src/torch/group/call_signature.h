// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace torchfeed::detail {

/// The name of an operation. The ranks compare it, and messages show it.
class CallName {
 public:
  static constexpr size_t kMaxBytes = 24;

  // Implicit, so that the caller writes a literal.
  consteval CallName(const char* text) : text_(text) {
    if (text_.empty() || text_.size() > kMaxBytes) {
      throw "a name has 1 to 24 bytes";
    }
  }

  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

/// The properties that must be equal on all ranks that call a collective operation, as numbers that
/// can be sent.
class CallSignature {
 public:
  static constexpr int64_t kHeaderWords = 10;
  static constexpr int64_t kMaxDimensions = 12;
  static constexpr int64_t kWords = kHeaderWords + kMaxDimensions;

  explicit CallSignature(CallName name);
  /// Returns the words of a rank that has refused its own arguments.
  [[nodiscard]] static CallSignature refused() { return {}; }
  CallSignature& op(int32_t op);
  /// Adds the root, whose values go to the others.
  CallSignature& from(int64_t root);
  /// Adds the root, which receives the others' values.
  CallSignature& to(int64_t root);
  /// Adds shapes and dtypes of at least one tensor, all of them checked.
  CallSignature& tensors(const std::vector<at::Tensor>& tensors);
  /// Adds whether the tensors are sent from device to device rather than from host to host.
  CallSignature& between_devices(bool between_devices);

  [[nodiscard]] at::Tensor words() const;
  [[nodiscard]] static bool is_refused(const int64_t* words);
  [[nodiscard]] static std::string describe(const int64_t* words);
  /// Returns the bytes of the one tensor that the words describe.
  [[nodiscard]] static int64_t bytes(const int64_t* words);

 private:
  CallSignature() = default;

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
