// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;

/**
 * A port of the loopback that the system gives to no other process until this is closed. It is
 * bound without a listener, so a connection is refused until a process that asks for this very
 * port, with {@code SO_REUSEADDR} as every store does, listens there.
 *
 * <p>A port that is found free and released can be taken in between, even by the client that waits
 * for the server: a connection to a port without a listener may be given that port as its own.
 */
public final class ReservedPort implements AutoCloseable {
  private static final byte[] LOOPBACK = {127, 0, 0, 1};

  private final SocketChannel bound;
  private final int number;

  private ReservedPort(SocketChannel bound, int number) {
    this.bound = bound;
    this.number = number;
  }

  /**
   * Reserves a free port.
   *
   * @throws IOException if no port is free or the limit of open files is reached
   */
  public static ReservedPort open() throws IOException {
    SocketChannel channel = SocketChannel.open(StandardProtocolFamily.INET);
    try {
      channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      channel.bind(new InetSocketAddress(InetAddress.getByAddress(LOOPBACK), 0));
      return new ReservedPort(channel, ((InetSocketAddress) channel.getLocalAddress()).getPort());
    } catch (IOException | RuntimeException | Error e) {
      channel.close();
      throw e;
    }
  }

  /** Returns the port. */
  public int number() {
    return number;
  }

  @Override
  public void close() throws IOException {
    bound.close();
  }
}
