// SPDX-License-Identifier: Apache-2.0
#include "golden_folder.h"

namespace torchfeed::testing {

std::filesystem::path golden_folder() { return TORCHFEED_GOLDEN_DIR; }

}  // namespace torchfeed::testing
