// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace torchfeed {

/// The way in which the rows of a batch are stored.
enum class Stores {
  kCached,    // through the caches, for data that is read soon
  kStreamed,  // bypassing the caches
};

}  // namespace torchfeed
