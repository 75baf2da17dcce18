// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/**
 * Thrown by a {@link LineParser} when the text of a line breaks a rule. The reader adds the file,
 * the line number and the offset, and applies the {@link EdgeLoader.ErrorPolicy}.
 */
public final class MalformedLineException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception.
   *
   * @param problem the rule and the value found
   */
  public MalformedLineException(String problem) {
    super(problem);
  }
}
