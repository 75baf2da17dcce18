// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace torchfeed {

/// Returns the device of that name, with its index. Throws an `Error` that names what is missing if
/// the device cannot be used.
c10::Device usable_device(const std::string& name);

}  // namespace torchfeed
