// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace torchfeed {

/// A member of every facade object that counts the live ones, for `live_objects`.
class LiveCount {
 public:
  LiveCount();
  LiveCount(const LiveCount&) = delete;
  LiveCount& operator=(const LiveCount&) = delete;
  ~LiveCount();
};

}  // namespace torchfeed
