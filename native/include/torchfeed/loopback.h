// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "torchfeed/export.h"

namespace torchfeed {

/// Opens a TCP socket that listens on the loopback interface only; the caller owns the descriptor.
///
/// libtorch's store listens on all interfaces unless it is given a socket.
///
/// @param address  a numeric loopback address, or `localhost`
/// @param port  in [0, 65535]; 0 lets the system choose
TORCHFEED_API int32_t listen_on_loopback(const std::string& address, int32_t port);

}  // namespace torchfeed
