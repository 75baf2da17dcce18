// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.util.Objects.requireNonNull;

import java.nio.file.Path;

/**
 * A line that breaks a rule.
 *
 * @param path the file that holds it
 * @param lineNumber its number in the file, from 1 on
 * @param offset where it begins in the file's text, in bytes
 * @param text the line; only its beginning if it is long, with replacement characters where it is
 *     not UTF-8
 * @param problem the rule and what was got
 */
public record LineError(Path path, long lineNumber, long offset, String text, String problem) {
  /**
   * An error.
   *
   * @param path the file that holds the line
   * @param lineNumber its number in the file, from 1 on
   * @param offset where it begins in the file's text, in bytes
   * @param text the line
   * @param problem the rule and what was got
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
