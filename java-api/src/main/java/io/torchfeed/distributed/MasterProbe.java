// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;

/**
 * Waits until somebody listens at the master's address. The store's client would do so too, but it
 * pauses between its attempts for longer than its timeout.
 */
final class MasterProbe {
  private static final long PAUSE_MILLIS = 20;

  private MasterProbe() {}

  /**
   * Returns as soon as a connection was accepted; tries at least once.
   *
   * @throws IOException what stood in the way last, when {@code timeout} is over
   */
  static void await(String host, int port, Duration timeout) throws IOException {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (true) {
      long left = Math.max(1, (deadline - System.nanoTime()) / 1_000_000);
      try {
        connect(host, port, (int) Math.min(left, Integer.MAX_VALUE));
        return;
      } catch (IOException e) {
        if (System.nanoTime() + PAUSE_MILLIS * 1_000_000 >= deadline) {
          throw e;
        }
      }
      Rendezvous.sleep(PAUSE_MILLIS);
    }
  }

  private static void connect(String host, int port, int timeoutMillis) throws IOException {
    IOException first = null;
    for (InetAddress address : InetAddress.getAllByName(host)) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(address, port), timeoutMillis);
        return;
      } catch (IOException e) {
        first = first == null ? e : first;
      }
    }
    throw first == null ? new IOException(host + " has no address") : first;
  }
}
