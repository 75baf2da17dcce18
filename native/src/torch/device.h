// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace torchfeed {

/// The device of that name, with its index. What is missing for it is an `Error` that says so.
c10::Device usable_device(const std::string& name);

}  // namespace torchfeed
