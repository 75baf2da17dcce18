// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipEndedException;
import io.torchfeed.distributed.membership.MembershipOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Those that have no business at a coordinator's port. */
final class Strangers {
  private Strangers() {}

  /**
   * Sends a browser, noise, a silent connection, a member of another job and a second coordinator.
   *
   * @throws IllegalStateException if one of the last two is not refused
   */
  static void come(int port) throws InterruptedException {
    List<Socket> open = new ArrayList<>();
    try {
      for (byte[] bytes :
          List.of(
              "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
              new byte[] {0, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9},
              new byte[] {127, -1, -1, -1},
              new byte[0])) {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        open.add(socket);
        socket.getOutputStream().write(bytes);
      }
      try (Membership other =
          Membership.join(
              "127.0.0.1",
              port,
              MembershipOptions.defaults().withJob("another job").withName("stranger"))) {
        throw new IllegalStateException("a member of another job was accepted: " + other.broken());
      } catch (MembershipEndedException e) {
        if (e.reason() != MembershipEndedException.Reason.FAILED) {
          throw new IllegalStateException("a member of another job got " + e, e);
        }
      }
      requireNoSecondCoordinator(port);
    } catch (IOException e) {
      throw new IllegalStateException("the coordinator takes no connections: " + e, e);
    } finally {
      for (Socket each : open) {
        closeQuietly(each);
      }
    }
  }

  private static void requireNoSecondCoordinator(int port) {
    Coordinator second;
    try {
      second = Coordinator.listen("127.0.0.1", port, CoordinatorOptions.of(1, 1).withJob(Job.NAME));
    } catch (IllegalStateException e) {
      return; // refused, as it must be
    }
    second.close();
    throw new IllegalStateException("a second coordinator listens at port " + port);
  }

  private static void closeQuietly(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // nothing is left to be lost
    }
  }
}
