// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/** An exchange between ranks that cannot go on, since a rank failed or is not there. */
public final class ExchangeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The rank that failed. */
  private final int rank;

  /**
   * A failed exchange.
   *
   * @param rank the rank that failed, -1 if that is not known
   * @param problem what happened
   */
  public ExchangeException(int rank, String problem) {
    super(problem);
    this.rank = rank;
  }

  /**
   * A failed exchange with its cause.
   *
   * @param rank the rank that failed, -1 if that is not known
   * @param problem what happened
   * @param cause why
   */
  public ExchangeException(int rank, String problem, Throwable cause) {
    super(problem, cause);
    this.rank = rank;
  }

  /**
   * The rank that failed.
   *
   * @return the rank, -1 if that is not known
   */
  public int rank() {
    return rank;
  }
}
