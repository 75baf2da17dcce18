// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;

/**
 * A probe that waits until a process listens at the master's address. The store's client also
 * retries, but pauses between attempts for longer than its timeout.
 */
final class StoreProbe {
  private static final long PAUSE_MILLIS = 20;

  private StoreProbe() {}

  /**
   * Returns as soon as a connection is accepted; tries at least once.
   *
   * @throws IOException the most recent failure, once {@code timeout} has elapsed
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
