// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import java.nio.file.Path;

/**
 * A line of a text file, and where it came from.
 *
 * @param path the file
 * @param offset where the line begins in the file's text, in bytes
 * @param text the line without its end, with replacement characters where it is not UTF-8
 */
public record TextLine(Path path, long offset, String text) {
  /**
   * A line.
   *
   * @param path the file
   * @param offset where the line begins in the file's text, in bytes
   * @param text the line without its end
   */
  public TextLine {
    requireNonNull(path, "path");
    requireNonNull(text, "text");
  }
}
