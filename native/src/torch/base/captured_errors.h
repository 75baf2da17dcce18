// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace torchfeed {

/// While it exists, keeps the output of this thread to `std::cerr` out of the log: the only place
/// where some of libtorch's functions say why they fail. Destroyed in the thread that created it.
class CapturedErrors {
 public:
  CapturedErrors();
  CapturedErrors(const CapturedErrors&) = delete;
  CapturedErrors& operator=(const CapturedErrors&) = delete;
  ~CapturedErrors();

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string* const outer_;
};

}  // namespace torchfeed
