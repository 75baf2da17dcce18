// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.bindings.torchfeed;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.junit.jupiter.api.Test;

class ReservedPortTest {
  @Test
  void onlyAStoreOfThisVeryPortListensThere() throws Exception {
    try (ReservedPort port = ReservedPort.open()) {
      assertThatExceptionOfType(ConnectException.class).isThrownBy(() -> connect(port.number()));
      assertThatExceptionOfType(BindException.class)
          .isThrownBy(() -> listenExclusively(port.number()));
      int listener = torchfeed.listen_on_loopback("127.0.0.1", port.number());
      connect(port.number());
      torchfeed.close_listener(listener);
    }
  }

  private static void connect(int port) throws IOException {
    new Socket(InetAddress.getLoopbackAddress(), port).close();
  }

  private static void listenExclusively(int port) throws IOException {
    try (ServerSocket other = new ServerSocket()) {
      other.setReuseAddress(false);
      other.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    }
  }
}
