// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.torchfeed;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The address at which the ranks of a group meet: rank 0 listens there, the others connect.
 *
 * <p>If no port is known to be free, rank 0 {@linkplain #listen listens} first and the program
 * passes the port to the other ranks; no other process can take it meanwhile. Thread-safe.
 */
public final class Master implements AutoCloseable {
  private static final int NONE = -1;

  private final String host;
  private final int port;
  private final AtomicInteger listener;

  private Master(String host, int port, int listener) {
    this.host = host;
    this.port = port;
    this.listener = new AtomicInteger(listener);
  }

  /**
   * Returns an address.
   *
   * @param host the name or address of the machine of rank 0
   * @param port in [1, 65535]
   * @return the address; closing it is optional
   * @throws IllegalArgumentException if the port is out of range
   */
  public static Master at(String host, int port) {
    requireNonNull(host, "host");
    if (port < 1 || port > 65_535) {
      throw new IllegalArgumentException("port must be in [1, 65535], got " + port);
    }
    if (host.isBlank()) {
      throw new IllegalArgumentException("host must not be blank");
    }
    return new Master(host, port, NONE);
  }

  /**
   * Listens at a port that the system chooses; for rank 0.
   *
   * @param host a name or address of this machine that the other ranks can reach
   * @return the address, to be passed to {@link ProcessGroup#join}, or else closed
   * @throws IllegalArgumentException if the host is unknown
   * @throws IllegalStateException if the host is not an address of this machine
   */
  public static Master listen(String host) {
    requireNonNull(host, "host");
    Facade.load();
    try {
      String address = InetAddress.getByName(host).getHostAddress();
      int listener = torchfeed.listen_on(address, 0);
      return new Master(host, torchfeed.port_of(listener), listener);
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException("unknown host '" + host + "'", e);
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  /**
   * Returns the machine of rank 0.
   *
   * @return its name or address, as it was given
   */
  public String host() {
    return host;
  }

  /**
   * Returns the port.
   *
   * @return in [1, 65535]
   */
  public int port() {
    return port;
  }

  /** Closes the listening socket, unless it has been passed to {@link ProcessGroup#join}. */
  @Override
  public void close() {
    takeListener().ifPresent(torchfeed::close_listener);
  }

  /** Gives the descriptor of the listening socket to the caller; empty if there is none. */
  OptionalInt takeListener() {
    int taken = listener.getAndSet(NONE);
    return taken == NONE ? OptionalInt.empty() : OptionalInt.of(taken);
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
