// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "torchfeed/export.h"

namespace torchfeed {

/// While it exists, keeps libtorch's announcements in this thread out of the log: Gloo's line on
/// its connections, which goes to the standard output, and warnings that an interface is in beta or
/// deprecated. Everything else is passed on.
///
/// `TORCH_CPP_LOG_LEVEL` decides once it is set: at INFO nothing is hidden, at WARNING only Gloo's
/// line. Created and destroyed in the same thread.
class TORCHFEED_API LogFilter {
 public:
  [[nodiscard]] static std::unique_ptr<LogFilter> create();
  LogFilter(const LogFilter&) = delete;
  LogFilter& operator=(const LogFilter&) = delete;
  ~LogFilter();

 private:
  class Impl;
  explicit LogFilter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
