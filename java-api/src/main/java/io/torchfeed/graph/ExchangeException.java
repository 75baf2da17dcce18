// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

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
    super(problem);
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
    super(problem, cause);
    this.rank = rank;
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
