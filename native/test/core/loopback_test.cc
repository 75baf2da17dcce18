// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/loopback.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

TEST(Loopback, ListensOnTheLoopbackInterfaceOnly) {
  const int socket = listen_on_loopback("localhost", 0);
  sockaddr_in bound{};
  socklen_t length = sizeof(bound);
  ASSERT_EQ(getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length), 0);
  EXPECT_EQ(ntohl(bound.sin_addr.s_addr), INADDR_LOOPBACK);
  const int port = ntohs(bound.sin_port);

  try {
    listen_on_loopback("127.0.0.1", port);
    FAIL() << "two sockets listen on one port";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kIllegalState);
    EXPECT_NE(std::string(e.what()).find("port " + std::to_string(port)), std::string::npos);
  }
  close(socket);
}

TEST(Loopback, AListenerOnAnyAddressKnowsItsPort) {
  const int socket = listen_on("0.0.0.0", 0);
  const int port = port_of(socket);
  EXPECT_GT(port, 0);
  EXPECT_THROW(listen_on("0.0.0.0", port), Error);
  close_listener(socket);
  close_listener(listen_on("0.0.0.0", port));
  EXPECT_THROW(listen_on("example", 0), Error);
  EXPECT_THROW(port_of(socket), Error);
}

TEST(Loopback, RefusesOtherAddressesAndInvalidPorts) {
  for (const char* address : {"0.0.0.0", "10.0.0.1", "::", "example", ""}) {
    EXPECT_THROW(listen_on_loopback(address, 0), Error) << address;
  }
  EXPECT_THROW(listen_on_loopback("127.0.0.1", 65536), Error);
  EXPECT_THROW(listen_on_loopback("127.0.0.1", -1), Error);
}

}  // namespace
}  // namespace torchfeed
