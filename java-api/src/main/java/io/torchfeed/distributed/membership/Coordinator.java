// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Quotes;
import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * Numbers the ranks of one elastic job.
 *
 * <p>It runs in a process that outlives ranks: a launcher, a cluster's driver, or a program of its
 * own. Ranks connect as {@link Membership}. When one is lost, the others learn it at once, and
 * those that are left form the next generation as soon as each of them has left the last one; when
 * one comes, or wants to leave, they meet at the end of a step first, so that no step is lost. A
 * rank that gives no sign of life is expelled, and learns it if it wakes.
 *
 * <p>One thread serves all ranks. Thread-safe. {@code close} ends it; ranks then throw {@link
 * MembershipEndedException}.
 *
 * <pre>{@code
 * try (Coordinator coordinator =
 *     Coordinator.listen(
 *         "127.0.0.1", 0, CoordinatorOptions.of(2, 4).withEvents(System.out::println))) {
 *   System.out.println("ranks join at port " + coordinator.port());
 *   coordinator.await();
 * }
 * }</pre>
 */
public final class Coordinator implements AutoCloseable {
  private final CoordinatorLoop loop;

  private Coordinator(CoordinatorLoop loop) {
    this.loop = loop;
  }

  /**
   * Starts to listen for the ranks of a job.
   *
   * @param host a name or address of this machine that the ranks can reach
   * @param port in [1, 65535], or 0 for one that the system chooses
   * @param options how many ranks there may be, how long they are waited for, the name of the job,
   *     and a consumer of events
   * @return the coordinator
   * @throws IllegalStateException if the address cannot be listened at
   * @throws IllegalArgumentException if the host is unknown or the port out of range
   */
  public static Coordinator listen(String host, int port, CoordinatorOptions options) {
    requireNonNull(options, "options");
    InetSocketAddress address = new InetSocketAddress(requireNonNull(host, "host"), port);
    if (address.isUnresolved()) {
      throw new IllegalArgumentException("unknown host " + Quotes.shortened(host));
    }
    try {
      CoordinatorLoop loop = new CoordinatorLoop(address, options);
      loop.start();
      return new Coordinator(loop);
    } catch (IOException e) {
      throw new IllegalStateException(
          "cannot listen at " + host + ":" + port + ": " + e.getMessage(), e);
    }
  }

  /**
   * Returns the port at which it listens.
   *
   * @return in [1, 65535]
   */
  public int port() {
    return loop.port();
  }

  /**
   * Returns the number of generations that have been formed.
   *
   * @return at least 0
   */
  public int generation() {
    return loop.generation();
  }

  /**
   * Waits until the ranks have completed their training.
   *
   * @throws MembershipEndedException if the job has failed, or this object was closed
   * @throws InterruptedException if this thread is interrupted
   */
  public void await() throws InterruptedException {
    loop.await();
  }

  @Override
  public void close() {
    loop.close();
  }
}
