// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "torchfeed/export.h"

namespace torchfeed {

/// The kind of failure that an `Error` reports; the Java side maps each to one exception type.
enum class ErrorCode {
  kInvalidArgument,
  kIllegalState,
  kOutOfMemory,
  kPeerLost,
  kTimeout,
  kUnreadable,
  kInternal,
};

/// The only exception that leaves the facade. `what()` is `CODE|message`, without a backtrace.
class TORCHFEED_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);
  ~Error() override;
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  /// Returns `what()` without the code.
  [[nodiscard]] const char* message() const noexcept;

 private:
  ErrorCode code_;
};

}  // namespace torchfeed
