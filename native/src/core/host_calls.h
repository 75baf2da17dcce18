// SPDX-License-Identifier: Apache-2.0
// The calls that only some systems have. Those on files, and the opening of sockets, have a second
// form of calls that every POSIX system has; `TORCHFEED_PORTABLE_CALLS` tests it on Linux.
#ifndef TORCHFEED_CORE_HOST_CALLS_H_
#define TORCHFEED_CORE_HOST_CALLS_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace torchfeed {

/// Reads the part of a file that is in memory, without waiting for a disk.
///
/// @return the number of bytes; less than 0 with `errno` if nothing can be read, `EOPNOTSUPP` if
///         the system or the file system does not know which parts are in memory
ssize_t read_cached(int descriptor, void* target, std::size_t bytes, int64_t from);

/// Asks the system to read a part of a file into memory soon. It may ignore this.
void read_ahead(int descriptor, int64_t from, int64_t bytes);

/// Returns for how long no data has passed through an established TCP connection; nothing of one
/// that has ended, and 0 where the system does not say.
std::optional<std::chrono::milliseconds> quiet_time(int descriptor);

/// Opens a stream socket that programs started by this process do not inherit.
///
/// @return the descriptor; less than 0 with `errno` if there is none
int stream_socket(int family);

}  // namespace torchfeed

#endif  // TORCHFEED_CORE_HOST_CALLS_H_
