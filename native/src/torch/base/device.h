// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <optional>
#include <string>

namespace torchfeed {

/// Returns the device of that name, with its index. Throws an `Error` that names the missing part
/// if the device cannot be used.
c10::Device usable_device(const std::string& name);

/// Makes the device the current one of a thread that belongs to the caller. Without it, a call of
/// CUDA makes a context on device 0, which takes memory there.
void enter_device(c10::Device device);

/// Returns the calling thread's current stream on a device, by default on its current one; nothing
/// without such a device, or on the CPU.
std::optional<c10::Stream> current_stream(std::optional<c10::Device> device = {});

}  // namespace torchfeed
