// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.util.Objects.requireNonNull;

import java.nio.file.Path;

/**
 * The description of a line that breaks a rule.
 *
 * @param path the file that holds it
 * @param lineNumber its number in the file, starting at 1
 * @param offset the offset of its first byte in the file's text
 * @param text the line, or only its beginning if it is long, with replacement characters where it
 *     is not UTF-8
 * @param problem the rule and the value found
 */
public record LineError(Path path, long lineNumber, long offset, String text, String problem) {
  /**
   * Creates an error.
   *
   * @param path the file that holds the line
   * @param lineNumber its number in the file, starting at 1
   * @param offset the offset of its first byte in the file's text
   * @param text the line
   * @param problem the rule and the value found
   */
  public LineError {
    requireNonNull(path, "path");
    requireNonNull(text, "text");
    requireNonNull(problem, "problem");
  }

  @Override
  public String toString() {
    return "%s, line %d, byte %d: %s, in \"%s\"".formatted(path, lineNumber, offset, problem, text);
  }
}
