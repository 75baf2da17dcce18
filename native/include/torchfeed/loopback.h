// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "torchfeed/export.h"

namespace torchfeed {

/// Opens a TCP socket that listens on one address of this machine; the caller owns the descriptor.
///
/// @param address  a numeric address, or `localhost`
/// @param port  in [0, 65535]; 0 lets the system choose
TORCHFEED_API int32_t listen_on(const std::string& address, int32_t port);

/// Like `listen_on`, for a socket that listens on the loopback interface only.
///
/// libtorch's store listens on all interfaces unless it is given a socket.
///
/// @param address  a numeric loopback address, or `localhost`
/// @param port  in [0, 65535]; 0 lets the system choose
TORCHFEED_API int32_t listen_on_loopback(const std::string& address, int32_t port);

/// Returns the port at which a socket listens.
TORCHFEED_API int32_t port_of(int32_t listener);

/// Closes a socket that no store has taken over.
TORCHFEED_API void close_listener(int32_t listener);

}  // namespace torchfeed
