// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "torchfeed/work.h"

namespace torchfeed {

/// The state shared by the thread that performs an operation and those that wait for it.
class Work::State {
 public:
  /// Sets the outcome, which no thread sees before it is announced.
  void succeed(std::vector<at::Tensor> results) { results_ = std::move(results); }
  void fail(std::exception_ptr failure) { failure_ = std::move(failure); }
  void announce();
  bool await(int64_t milliseconds);
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] const std::vector<at::Tensor>& results() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable finished_;
  bool is_done_ = false;
  std::exception_ptr failure_;
  std::vector<at::Tensor> results_;
};

}  // namespace torchfeed
