// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/**
 * A line's text breaks a rule. Thrown by a {@link LineParser}; the reader adds file, number and
 * offset and does what the {@link ErrorPolicy} says.
 */
public final class MalformedLineException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * A problem.
   *
   * @param problem the rule and what was got
   */
  public MalformedLineException(String problem) {
    super(problem);
  }
}
