// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.util.Objects.requireNonNull;

import java.nio.file.Path;
import java.nio.file.attribute.FileTime;

/**
 * A file as it was at planning time.
 *
 * @param path the path of the file
 * @param bytes its length in bytes, as stored, at least 0
 * @param modified the time of its last modification
 * @param compression the compression of its text
 */
public record TextFile(
    Path path, long bytes, FileTime modified, LineOptions.Compression compression) {
  /**
   * Creates a description of a file.
   *
   * @param path the path of the file
   * @param bytes its length in bytes, as stored, at least 0
   * @param modified the time of its last modification
   * @param compression the compression of its text
   * @throws IllegalArgumentException if the length is negative
   */
  public TextFile {
    requireNonNull(path, "path");
    requireNonNull(modified, "modified");
    requireNonNull(compression, "compression");
    if (bytes < 0) {
      throw new IllegalArgumentException("bytes must be at least 0, got " + bytes);
    }
  }

  /**
   * Returns whether several ranks may share the file.
   *
   * @return true if a reader can begin in its middle
   */
  public boolean isSplittable() {
    return compression == LineOptions.Compression.NONE;
  }
}
