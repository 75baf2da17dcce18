// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace torchfeed::testing {

/// Returns the folder of the golden files. Only one small file is compiled with its path, so that a
/// compiler cache serves every clone.
std::filesystem::path golden_folder();

}  // namespace torchfeed::testing
