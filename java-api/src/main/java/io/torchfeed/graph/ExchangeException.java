// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.util.Objects.requireNonNull;

/** Thrown when an exchange between ranks cannot continue because a rank failed or is missing. */
public final class ExchangeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The rank that failed. */
  private final int rank;

  /**
   * Creates an exception.
   *
   * @param rank the rank that failed, -1 if unknown
   * @param problem a description of the problem
   */
  public ExchangeException(int rank, String problem) {
    super(requireNonNull(problem, "problem"));
    this.rank = rank;
  }

  /**
   * Creates an exception with its cause.
   *
   * @param rank the rank that failed, -1 if unknown
   * @param problem a description of the problem
   * @param cause the cause
   */
  public ExchangeException(int rank, String problem, Throwable cause) {
    super(requireNonNull(problem, "problem"), requireNonNull(cause, "cause"));
    this.rank = rank;
  }

  /** Returns the result of an exchange; requires a message from each rank. */
  @SuppressWarnings("ConstantValue") // the exchange may be written without null checks
  static byte[][] requireWhole(byte[][] received, int ranks) {
    if (received == null) {
      throw new ExchangeException(
          -1,
          "the AllToAll must return a message from each of %d ranks, got null".formatted(ranks));
    }
    if (received.length != ranks) {
      throw new ExchangeException(
          -1,
          "the exchange must have the %d ranks of the plan, got %d"
              .formatted(ranks, received.length));
    }
    for (int from = 0; from < ranks; from++) {
      if (received[from] == null) {
        throw new ExchangeException(
            from, "the AllToAll must return a message from rank %d, got null".formatted(from));
      }
    }
    return received;
  }

  /**
   * Returns the rank that failed.
   *
   * @return the rank, -1 if unknown
   */
  public int rank() {
    return rank;
  }
}
