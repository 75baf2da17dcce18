// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/** A line that breaks a rule, where that ends the reading. */
public final class LineException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The line and the rule. */
  private final transient LineError error;

  LineException(LineError error) {
    super(error.toString());
    this.error = error;
  }

  LineException(LineError error, Throwable cause) {
    super(error.toString(), cause);
    this.error = error;
  }

  /**
   * The line and the rule.
   *
   * @return the error
   */
  public LineError error() {
    return error;
  }
}
