// SPDX-License-Identifier: Apache-2.0
#include "core/host_calls.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#if defined(__linux__) && !defined(TORCHFEED_PORTABLE_CALLS)
#include <sys/uio.h>
#else
#include <algorithm>
#include <limits>
#endif

namespace torchfeed {

#if defined(__linux__) && !defined(TORCHFEED_PORTABLE_CALLS)

ssize_t read_cached(int descriptor, void* target, std::size_t bytes, int64_t from) {
  const iovec part{target, bytes};
  return ::preadv2(descriptor, &part, 1, from, RWF_NOWAIT);
}

void read_ahead(int descriptor, int64_t from, int64_t bytes) {
  ::posix_fadvise(descriptor, from, bytes, POSIX_FADV_WILLNEED);
}

int stream_socket(int family) { return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0); }

#else

ssize_t read_cached(int /*descriptor*/, void* /*target*/, std::size_t /*bytes*/, int64_t /*from*/) {
  errno = EOPNOTSUPP;
  return -1;
}

void read_ahead([[maybe_unused]] int descriptor, [[maybe_unused]] int64_t from,
                [[maybe_unused]] int64_t bytes) {
#ifdef F_RDADVISE
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  radvisory part{from, static_cast<int>(std::min(bytes, kMost))};
  ::fcntl(descriptor, F_RDADVISE, &part);
#endif
}

int stream_socket(int family) {
  const int descriptor = ::socket(family, SOCK_STREAM, 0);
  if (descriptor >= 0) {
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
  return descriptor;
}

#endif

}  // namespace torchfeed
