// SPDX-License-Identifier: Apache-2.0
#include "core/host_calls.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#if defined(__linux__) && !defined(TORCHFEED_PORTABLE_CALLS)
#include <sys/uio.h>
#else
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

#ifdef __linux__

std::optional<std::chrono::milliseconds> quiet_time(int descriptor) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
      info.tcpi_state != TCP_ESTABLISHED) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::min(info.tcpi_last_data_sent, info.tcpi_last_data_recv));
}

#else

std::optional<std::chrono::milliseconds> quiet_time(int descriptor) {
  constexpr int kEstablished = 4;  // TCPS_ESTABLISHED, of a header of the kernel
  tcp_connection_info info{};
  socklen_t length = sizeof(info);
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_CONNECTION_INFO, &info, &length) != 0 ||
      info.tcpi_state != kEstablished) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(0);
}

#endif

}  // namespace torchfeed
