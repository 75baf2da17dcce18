// SPDX-License-Identifier: Apache-2.0
// The calls that only some systems have. Compiled with `TORCHFEED_PORTABLE_CALLS`, and on systems
// other than Linux, they do what every POSIX system can.
#ifndef TORCHFEED_CORE_HOST_CALLS_H_
#define TORCHFEED_CORE_HOST_CALLS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace torchfeed {

/// Reads the part of a file that is in memory, without waiting for a disk.
///
/// @return the number of bytes; less than 0 with `errno` if nothing can be read, `EOPNOTSUPP` if
///         the system or the file system does not distinguish what is in memory
ssize_t read_cached(int descriptor, void* target, std::size_t bytes, int64_t from);

/// Asks the system to read a part of a file into memory soon. It may ignore this.
void read_ahead(int descriptor, int64_t from, int64_t bytes);

/// Opens a stream socket that programs started by this process do not inherit.
///
/// @return the descriptor; less than 0 with `errno` if there is none
int stream_socket(int family);

}  // namespace torchfeed

#endif  // TORCHFEED_CORE_HOST_CALLS_H_
