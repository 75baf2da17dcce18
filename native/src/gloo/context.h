// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

// See the README in src/gloo.
namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
