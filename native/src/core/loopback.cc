// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/host_calls.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr int kBacklog = 2048;

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  bool is_loopback = false;
};

Address parse(const std::string& address, int32_t port) {
  Address parsed;
  const auto network_port = htons(static_cast<uint16_t>(port));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = network_port;
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = network_port;
  const std::string text = address == "localhost" ? "127.0.0.1" : address;
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    parsed.length = sizeof(v4);
    parsed.is_loopback = (ntohl(v4.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
    std::memcpy(&parsed.storage, &v4, sizeof(v4));
  } else if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    parsed.length = sizeof(v6);
    parsed.is_loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    std::memcpy(&parsed.storage, &v6, sizeof(v6));
  } else {
    throw Error(ErrorCode::kInvalidArgument, "not a numeric address: " + address);
  }
  return parsed;
}

}  // namespace

int32_t listen_on(const std::string& address, int32_t port) {
  if (port < 0 || port > 65535) {
    throw Error(ErrorCode::kInvalidArgument,
                "port must be in [0, 65535], got " + std::to_string(port));
  }
  const Address parsed = parse(address, port);
  const int descriptor = stream_socket(parsed.storage.ss_family);
  const int on = 1;
  if (descriptor < 0 || setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(descriptor, reinterpret_cast<const sockaddr*>(&parsed.storage), parsed.length) != 0 ||
      listen(descriptor, kBacklog) != 0) {
    const std::string reason = std::strerror(errno);
    if (descriptor >= 0) {
      close(descriptor);
    }
    throw Error(ErrorCode::kIllegalState,
                "cannot listen on " + address + " port " + std::to_string(port) + ": " + reason);
  }
  return descriptor;
}

int32_t listen_on_loopback(const std::string& address, int32_t port) {
  if (!parse(address, 0).is_loopback) {
    throw Error(ErrorCode::kInvalidArgument, "not a loopback address: " + address);
  }
  return listen_on(address, port);
}

int32_t port_of(int32_t listener) {
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    throw Error(ErrorCode::kIllegalState, std::string("not a socket: ") + std::strerror(errno));
  }
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

void close_listener(int32_t listener) { close(listener); }

}  // namespace torchfeed
