// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace torchfeed {

/// A member of each facade object: counts those that are alive, for `live_objects`.
class LiveCount {
 public:
  LiveCount();
  LiveCount(const LiveCount&) = delete;
  LiveCount& operator=(const LiveCount&) = delete;
  ~LiveCount();
};

}  // namespace torchfeed
