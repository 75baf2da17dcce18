// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "torchfeed/export.h"

namespace torchfeed {

/// A collective operation that has been started. Thread-safe.
///
/// The operation continues, and keeps its tensors alive, if this object is destroyed.
class TORCHFEED_API Work {
 public:
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work();

  /// Waits until the operation is done, and throws its error.
  ///
  /// @param milliseconds  how long to wait at most; negative: until it is done
  /// @return whether the operation is done; if not, it continues
  bool await(int64_t milliseconds);
  /// Returns whether the operation is done, successfully or not.
  [[nodiscard]] bool is_done() const;
  /// Returns how many tensors the operation returned.
  [[nodiscard]] int64_t results() const;
  /// Returns tensor `index` of those that the operation returned; it must be done.
  [[nodiscard]] torch::Tensor result(int64_t index) const;

 private:
  friend class ProcessGroup;  // starts operations
  class State;
  explicit Work(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;  // the thread that performs it drops its own a little later
  std::shared_ptr<void> live_;    // a LiveCount
};

}  // namespace torchfeed
