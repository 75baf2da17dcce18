// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.util.Objects.requireNonNull;

/** Thrown when a line breaks a rule and reading therefore ends. */
public final class LineException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The line and the rule. */
  private final transient LineOptions.LineError error;

  /**
   * Creates an exception.
   *
   * @param error the line and the rule
   */
  public LineException(LineOptions.LineError error) {
    super(requireNonNull(error, "error").toString());
    this.error = error;
  }

  /**
   * Creates an exception with a cause.
   *
   * @param error the line and the rule
   * @param cause the reason why the line cannot be read
   */
  public LineException(LineOptions.LineError error, Throwable cause) {
    super(requireNonNull(error, "error").toString(), requireNonNull(cause, "cause"));
    this.error = error;
  }

  /**
   * Returns the line and the rule.
   *
   * @return the error
   */
  public LineOptions.LineError error() {
    return error;
  }
}
