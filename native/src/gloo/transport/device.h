// SPDX-License-Identifier: Apache-2.0
#pragma once

// See the README in src/gloo.
namespace gloo::transport {

class Device;
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};

}  // namespace gloo::transport
