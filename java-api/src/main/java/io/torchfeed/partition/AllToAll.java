// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/**
 * How the ranks exchange bytes: every rank gives a message for each rank and gets one of each. The
 * only thing that a graph needs of a process group. One rank's object; one call at a time.
 *
 * <p>{@link LocalRanks} has one for ranks that are threads; {@link #alone} is that of a single
 * rank; between processes it is {@code group::allToAll} of a {@code ProcessGroup}.
 */
@FunctionalInterface
public interface AllToAll {
  /**
   * Exchanges messages. All ranks call it equally often; it returns when this rank has all messages
   * meant for it.
   *
   * @param messages what to send, to rank i message i, also to this rank itself; the arrays are
   *     given away and must not be changed afterwards
   * @return what was received, message i from rank i
   * @throws ExchangeException if a rank does not take part; between processes the exception of
   *     their group
   */
  byte[][] exchange(byte[][] messages);

  /**
   * The exchange of a single rank, which gets what it gives.
   *
   * @return the exchange, thread-safe
   */
  static AllToAll alone() {
    return messages -> messages;
  }
}
