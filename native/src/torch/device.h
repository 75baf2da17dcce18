// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <optional>
#include <string>

namespace torchfeed {

/// Returns the device of that name, with its index. Throws an `Error` that names what is missing if
/// the device cannot be used.
c10::Device usable_device(const std::string& name);

/// Returns the calling thread's current stream on its current device; nothing without a device.
std::optional<c10::Stream> current_stream();

}  // namespace torchfeed
