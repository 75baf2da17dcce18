// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace torchfeed {

/// Returns the reason why the library of this path is not loaded and cannot be loaded, in the words
/// of the dynamic linker; empty if it is loaded.
std::string library_obstacle(const std::string& path);

}  // namespace torchfeed
