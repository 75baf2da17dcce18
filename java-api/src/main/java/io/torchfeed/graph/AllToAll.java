// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/**
 * An exchange of bytes between all ranks: every rank sends a message to each rank and receives one
 * from each. It is all that a graph needs of a process group. Belongs to one rank; one call at a
 * time.
 *
 * <p>{@link LocalRanks} provides one for ranks that are threads, and {@link #alone} one for a
 * single rank; between processes it is {@code group::allToAll} of a {@code ProcessGroup}.
 */
@FunctionalInterface
public interface AllToAll {
  /**
   * Exchanges messages. All ranks must call it the same number of times; it returns once this rank
   * has received a message from every rank.
   *
   * @param messages the messages to send, message i to rank i, including one to this rank itself;
   *     the exchange takes ownership of the arrays, which must not be changed afterwards
   * @return the messages received, message i from rank i
   * @throws ExchangeException if a rank does not take part; between processes, the process group
   *     throws its own exception
   */
  byte[][] exchange(byte[][] messages);

  /**
   * Returns the exchange of a single rank, which receives its own messages.
   *
   * @return the exchange, thread-safe
   */
  static AllToAll alone() {
    return messages -> messages;
  }
}
